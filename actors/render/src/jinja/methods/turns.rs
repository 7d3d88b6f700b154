//! Methods of `loop` and of cyclers.

use crate::{
    evaluation::EvaluationResult,
    jinja::{
        call::no_method,
        evaluate::JinjaEvaluator,
        looping::LoopState,
        operand::{DEEPEST, Operand, Turns},
        operators,
    },
};

impl<'p> JinjaEvaluator<'_, 'p> {
    pub(super) fn loop_method(
        &mut self,
        of: &Operand<'p>,
        state: &LoopState<'p>,
        name: &str,
        arguments: Vec<Operand<'p>>,
    ) -> EvaluationResult<Operand<'p>> {
        match name {
            "cycle" => Ok(self.cycle(state, &arguments)),
            "changed" => self.changed(state, arguments),
            _ => Err(no_method(of, name)),
        }
    }

    /// The argument whose turn it is in this step.
    fn cycle(&mut self, state: &LoopState<'p>, arguments: &[Operand<'p>]) -> Operand<'p> {
        self.frames.refuse_if_beyond("loop");
        let index = state.index.get().checked_rem(arguments.len());
        index.and_then(|index| arguments.get(index)).cloned().unwrap_or(Operand::UNDEFINED)
    }

    /// Whether the arguments are others than in the call before.
    fn changed(
        &mut self,
        state: &LoopState<'p>,
        arguments: Vec<Operand<'p>>,
    ) -> EvaluationResult<Operand<'p>> {
        self.frames.refuse_if_beyond("loop");
        let mut last = state.last.borrow_mut();
        let is_same = match &*last {
            Some(last) => are_equal(last, &arguments)?,
            None => false,
        };
        *last = Some(arguments);
        Ok(Operand::bool(!is_same))
    }

    pub(super) fn cycler_method(
        &mut self,
        of: &Operand<'p>,
        turns: &Turns<'p>,
        name: &str,
    ) -> EvaluationResult<Operand<'p>> {
        self.frames.changes(turns.born);
        let current = turns.next.get().checked_rem(turns.items.len()).unwrap_or(0);
        match name {
            "next" => turns.next.set(current + 1),
            "reset" => turns.next.set(0),
            _ => return Err(no_method(of, name)),
        }
        Ok(turns.items.get(current).cloned().unwrap_or(Operand::UNDEFINED))
    }
}

fn are_equal(some: &[Operand<'_>], others: &[Operand<'_>]) -> Result<bool, String> {
    if some.len() != others.len() {
        return Ok(false);
    }
    for (a, b) in some.iter().zip(others) {
        if !operators::equal(a, b, DEEPEST)? {
            return Ok(false);
        }
    }
    Ok(true)
}
