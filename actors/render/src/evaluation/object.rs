//! A watched object's block: what is read and printed in it belongs to the object, its failure stops nothing else, and what
//! it printed stands again while everything that it looked at is the same.

use super::{failure::EvaluationResult, machine::Machine};
use crate::{
    block_cache::{
        block::BlockPosition,
        captured::{Alike, Boundary, LookupResult, OuterLookup, would_see_the_same},
    },
    engine::position::At,
    value::{Value, watched::Watched},
};
use std::sync::Arc;

pub(crate) trait LanguageEvaluator<'p> {
    fn machine(&mut self) -> &mut Machine<'p>;
}

/// A block of a template, by its address, and the place it is told at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockId {
    block: usize,
    at: At,
}

impl BlockId {
    /// Of what lies there in the compiled templates.
    pub fn of<T>(block: &T, at: At) -> Self {
        Self { block: std::ptr::from_ref(block).addr(), at }
    }
}

impl Machine<'_> {
    /// Prints what an outermost object's block printed in the render before, if it would print the same again: if each look
    /// out of it `finds` the same.
    pub fn is_cache_hit(
        &mut self,
        object: &Watched,
        body: BlockId,
        finds: impl Fn(&OuterLookup, &LookupResult, &Alike) -> bool,
    ) -> bool {
        let Some(cache) = self.session.block_cache() else { return false };
        let Some((number, kept)) = cache.find(body.block, object.object(), self.including.len()) else {
            return false;
        };
        let namespace = &object.reference().namespace;
        let stands = self.output.fits(namespace, &kept.site.indent, kept.most)
            && would_see_the_same(&kept.site.lookups, object.object(), |lookup, found| {
                finds(lookup, found, cache.alike())
            })
            && self.session.again(number, kept.effects.as_deref());
        if stands {
            self.output.again(object.reference(), kept.fragment.as_ref(), kept.bytes);
        }
        stands
    }

    /// The objects of a loop, as addresses, if many of its steps may stand again at once: they are then asked for with [`Self::group_hit`].
    /// Where the loop goes over a `list` of all objects of a store, none of them is looked at.
    pub fn objects_of<'v>(
        &self,
        body: BlockId,
        list: Option<&Arc<Vec<Value>>>,
        items: impl Iterator<Item = Option<&'v Arc<Watched>>>,
    ) -> Option<Arc<Vec<usize>>> {
        let cache = self.session.block_cache().filter(|cache| cache.has_groups_of(body.block))?;
        let known = list.zip(cache.lists()).and_then(|(list, lists)| lists.addresses_of(list));
        let address = |item: Option<&Arc<Watched>>| item.map_or(0, |item| Arc::as_ptr(item.object()).addr());
        Some(known.unwrap_or_else(|| Arc::new(items.map(address).collect())))
    }

    /// Prints what the blocks of the first of `objects` printed in the render before, if a whole group of them stands again: of how
    /// many. What they look up around themselves is as for the first one.
    pub fn group_hit(
        &mut self,
        objects: &[usize],
        body: BlockId,
        finds: impl Fn(&OuterLookup, &LookupResult, &Alike) -> bool,
    ) -> Option<usize> {
        let cache = self.session.block_cache()?;
        let (number, group, whole) = cache.find_group(body.block, objects, self.including.len())?;
        let first = group.blocks.first()?;
        let stands = self.output.fits_group(whole)
            && would_see_the_same(&whole.lookups, &first.object, |lookup, found| {
                finds(lookup, found, cache.alike())
            });
        stands.then(|| {
            cache.pass_group(number);
            self.session.again_group(number);
            self.output.again_group(group, whole);
            whole.objects.len()
        })
    }

    /// Where a block begins that is outermost and may be kept; it needs a boundary then.
    pub fn site(&self, object: &Watched, body: BlockId) -> Option<BlockPosition> {
        self.session.block_cache().map(|_| BlockPosition {
            block: body.block,
            place: (body.at.template, body.at.line, body.at.column),
            object: object.object().clone(),
            depth: self.including.len(),
            indent: self.output.indentation().into(),
        })
    }
}

/// A block printed for a watched object: reads and lines within belong to it. An outermost one that fails prints
/// nothing, and the render goes on. `boundary` is that of an outermost block at a `site`.
pub(crate) fn object_block<'p, F: LanguageEvaluator<'p>>(
    front: &mut F,
    object: &Watched,
    site: Option<(BlockPosition, &Boundary)>,
    print: impl FnOnce(&mut F) -> EvaluationResult,
) -> EvaluationResult {
    let machine = front.machine();
    let (outermost, depth) = (machine.session.owner().is_none(), machine.including.len());
    machine.session.enter(object);
    machine.output.begin_object(object.reference());
    let result = print(front).map_err(|failure| failure.of(Some(object.reference().clone())));
    let machine = front.machine();
    machine.session.leave();
    match result {
        Err(failure) if outermost && !failure.is_of_all() => {
            machine.output.abandon_object();
            machine.including.truncate(depth);
            machine.session.failed(object.reference(), failure.into_diagnostic(machine.names));
            Ok(())
        }
        result => {
            let printed = machine.output.end_object();
            if let (Ok(()), Some((site, boundary)), Some(printed)) = (&result, site, printed) {
                machine.session.remember(site, boundary, printed);
            }
            result
        }
    }
}
