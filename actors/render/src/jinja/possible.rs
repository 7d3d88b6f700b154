//! The values that a name or an expression may have, told from the templates alone.

use super::node::{For, Macro};
use crate::{block_cache::captured::Uncacheable, engine::position::At, evaluation::cacheability::Holds};
use std::{
    cell::{Cell, RefCell},
    rc::{Rc, Weak},
};

#[derive(Debug, Default)]
pub(super) struct PossibleScope<'p> {
    outer: Option<Rc<PossibleScope<'p>>>,
    names: RefCell<Vec<PossibleName<'p>>>,
    /// Whether it is one of the outermost object's block.
    is_inside: bool,
    hides_loop: bool,
}

#[derive(Clone, Debug)]
struct PossibleName<'p> {
    name: &'p str,
    value: Possible<'p>,
    surely: bool,
}

/// The value that something may have.
#[derive(Clone, Debug, Default)]
pub(super) struct Possible<'p> {
    /// One for all that is the same list or dict.
    holds: Option<Rc<Cell<Holds>>>,
    /// Whether it may have been made outside of the outermost object's block.
    pub is_outer: bool,
    /// Whether it gives something else each time: a cycler, a joiner, `loop`.
    pub turns: bool,
    pub resources: Resources,
    pub macros: Vec<Callable<'p>>,
    module: Option<Rc<PossibleScope<'p>>>,
    /// The loop that `loop(…)` runs again.
    pub recursion: Option<(&'p For, At)>,
}

/// Whether it is `resources`, or may be one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Resources {
    #[default]
    None,
    All,
    One,
}

/// A macro, and the scope that it was declared in.
#[derive(Clone, Debug)]
pub(super) struct Callable<'p> {
    pub code: &'p Macro,
    home: Weak<PossibleScope<'p>>,
    /// The module that it was taken from, and that is its home.
    kept: Option<Rc<PossibleScope<'p>>>,
}

impl<'p> Callable<'p> {
    pub fn new(code: &'p Macro, home: &Rc<PossibleScope<'p>>) -> Self {
        Self { code, home: Rc::downgrade(home), kept: None }
    }

    /// Where its names are looked up, unless that is over.
    pub fn home(&self) -> Option<Rc<PossibleScope<'p>>> {
        self.kept.clone().or_else(|| self.home.upgrade())
    }
}

impl<'p> PossibleScope<'p> {
    pub fn new(outer: Option<Rc<Self>>, is_inside: bool) -> Self {
        Self { outer, is_inside, ..Self::default() }
    }

    /// That of a template of its own.
    pub fn of_template(outer: Option<Rc<Self>>, is_inside: bool) -> Self {
        Self { hides_loop: true, ..Self::new(outer, is_inside) }
    }

    pub fn declare(&self, name: &'p str, value: Possible<'p>, surely: bool) {
        self.names.borrow_mut().push(PossibleName { name, value, surely });
    }

    /// It is over. A module in it may know it as its surroundings: nothing holds itself then.
    pub fn end(&self) {
        self.names.borrow_mut().clear();
    }

    /// Whether it or a scope around it may declare the name.
    pub fn knows(&self, name: &str) -> bool {
        self.names.borrow().iter().any(|declared| declared.name == name)
            || self.outer.as_ref().is_some_and(|outer| outer.knows(name))
    }

    /// The value that a name, or a field of what it names, may have, and why an object's block that looks it up cannot be kept.
    pub fn lookup(
        &self,
        name: &str,
        field: Option<&str>,
        in_block: bool,
    ) -> (Option<Possible<'p>>, Vec<Uncacheable>) {
        let (mut found, mut whys) = (None::<Possible<'p>>, Vec::new());
        let (mut here, mut is_hidden) = (Some(self), false);
        while let Some(frame) = here {
            let names = frame.names.borrow();
            let mut is_sure = false;
            for declared in names.iter().filter(|d| d.name == name && !(is_hidden && name == "loop")) {
                let beyond = in_block && !frame.is_inside;
                whys.extend(
                    Some(&declared.value).filter(|_| beyond).and_then(|value| value.why_not(name, field)),
                );
                let mut value = declared.value.clone();
                value.is_outer |= beyond;
                let value = field.map_or_else(|| value.clone(), |field| value.field(field));
                found = Some(found.map_or_else(|| value.clone(), |known| known.or(value.clone())));
                is_sure |= declared.surely;
            }
            is_hidden |= frame.hides_loop;
            here = frame.outer.as_deref().filter(|_| !is_sure);
        }
        (found, whys)
    }
}

impl<'p> Possible<'p> {
    pub fn holding(holds: Holds) -> Self {
        Self { holds: Some(Rc::new(Cell::new(holds))), ..Self::default() }
    }

    pub fn of_macro(callable: Callable<'p>) -> Self {
        Self { macros: vec![callable], ..Self::default() }
    }

    /// `loop`, over what holds that.
    pub fn of_loop(item: Holds, recursion: Option<(&'p For, At)>) -> Self {
        Self { turns: true, recursion, ..Self::holding(item) }
    }

    /// The names that an imported template declares.
    pub fn of_module(frame: Rc<PossibleScope<'p>>) -> Self {
        let (mut holds, mut turns) = (Holds::Nothing, false);
        for declared in frame.names.borrow().iter() {
            holds = holds.or(declared.value.holds().or_deep());
            turns |= declared.value.turns;
        }
        Self { turns, module: Some(frame), ..Self::holding(holds) }
    }

    /// A name that no template declares.
    pub fn of_resources(name: &str) -> Self {
        let resources = if name == "resources" { Resources::All } else { Resources::One };
        Self { resources, ..Self::default() }
    }

    pub fn holds(&self) -> Holds {
        self.holds.as_ref().map_or(Holds::Nothing, |holds| holds.get())
    }

    /// It, or the other.
    pub fn or(mut self, other: Self) -> Self {
        if self.holds() == Holds::Nothing && other.holds.is_some() {
            self.holds = other.holds;
        } else if self.holds() != self.holds().or(other.holds()) {
            self.holds = Self::holding(Holds::Deep).holds;
        }
        self.is_outer |= other.is_outer;
        self.turns |= other.turns;
        self.macros.extend(other.macros);
        self.module = self.module.or(other.module);
        self.recursion = self.recursion.or(other.recursion);
        if self.resources == Resources::None {
            self.resources = other.resources;
        }
        self
    }

    /// A list or dict of it.
    pub fn deep(&self) -> Self {
        Self { is_outer: self.is_outer, ..Self::holding(self.holds().or_deep()) }
    }

    /// It, and something else each time.
    pub fn turning(self) -> Self {
        Self { turns: true, ..self }
    }

    /// The value that an item of it may have.
    pub fn item(&self) -> Self {
        match self.holds() {
            // It may hold what is put into it later.
            Holds::Nothing | Holds::Deep => {
                Self { holds: self.holds.clone(), is_outer: self.is_outer, ..Self::default() }
            }
            holds => Self::holding(holds.item()),
        }
    }

    /// The value that a field of it may have.
    pub fn field(&self, name: &str) -> Self {
        if let Some(module) = &self.module {
            return self.of_field(module, name);
        }
        match (self.resources, self.holds(), name) {
            (Resources::All, ..) => Self { resources: Resources::One, ..Self::default() },
            (_, Holds::Group, "list") => Self::holding(Holds::List),
            _ if self.turns && !matches!(name, "previtem" | "nextitem") => Self::default(),
            _ if self.turns => Self::holding(self.holds()),
            (_, Holds::Nothing | Holds::Deep, _) => self.item(),
            _ => Self::default(),
        }
    }

    fn of_field(&self, module: &Rc<PossibleScope<'p>>, name: &str) -> Self {
        let names = module.names.borrow();
        let of_name = names.iter().filter(|declared| declared.name == name);
        let mut found = of_name.fold(Self::default(), |known, declared| known.or(declared.value.clone()));
        found.is_outer |= self.is_outer;
        for callable in &mut found.macros {
            callable.kept.get_or_insert_with(|| module.clone());
        }
        found
    }

    /// Takes in the objects of a value that is put into it.
    pub fn takes_in(&self, more: Holds) {
        if let Some(holds) = self.holds.as_ref().filter(|_| more != Holds::Nothing) {
            holds.set(Holds::Deep);
        }
    }

    /// Why a block cannot be kept that looks it, or a field of it, up by a name beyond itself.
    fn why_not(&self, name: &str, field: Option<&str>) -> Option<Uncacheable> {
        let of_loop = name == "loop" && self.turns;
        match field {
            Some(field) if of_loop => {
                (self.field(field).holds() > Holds::Object).then_some(Uncacheable::OuterObjects)
            }
            _ if self.turns => Some(Uncacheable::OuterVariable),
            _ => (self.holds() > Holds::Object).then_some(Uncacheable::OuterObjects),
        }
    }
}
