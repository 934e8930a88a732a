//! Names in scope during compilation.

use std::{collections::HashMap, sync::Arc};

use crate::{
    code::Variable,
    name::Name,
    types::{Type, TypeVariable},
};

/// The names in scope, and the frames of the enclosing functions.
#[derive(Default)]
pub(super) struct Scope {
    /// The bindings of each local name, the innermost last.
    locals: HashMap<Name, Vec<Binding>>,
    outer: HashMap<Name, Variable>,
    frames: Vec<Frame>,
    type_variables: Vec<TypeVariable>,
}

#[derive(Clone, Copy)]
struct Binding {
    /// Index of the frame that has the binding. The outermost frame is 0.
    frame: usize,
    variable: Variable,
}

/// The frame of a function.
#[derive(Default)]
struct Frame {
    next: u32,
    captures: Vec<Variable>,
    known: HashMap<u64, u32>,
    /// Names that were bound when the frame was opened.
    parameters: Vec<Name>,
}

impl Scope {
    pub(super) fn add_global(&mut self, name: Name, index: u32) {
        self.outer.insert(name, Variable::Global(index));
    }

    pub(super) fn add_parameter(&mut self, name: Name, index: usize) {
        self.outer.insert(name, Variable::Parameter(u32::try_from(index).unwrap_or(u32::MAX)));
    }

    pub(super) fn add_message_name(&mut self, name: &'static str) {
        let index = super::MESSAGE_NAMES.iter().position(|known| *known == name).unwrap_or_default();
        self.outer.insert(Name::simple(name), Variable::Message(u32::try_from(index).unwrap_or_default()));
    }

    /// Opens the frame of a function with these parameters. `itself` is the name of the function, for recursion.
    pub(super) fn open(&mut self, itself: Option<&Name>, parameters: &[Name]) {
        self.frames.push(Frame { parameters: parameters.to_vec(), ..Frame::default() });
        if let Some(name) = itself {
            let binding = Binding { frame: self.frames.len() - 1, variable: Variable::Itself };
            self.locals.entry(name.clone()).or_default().push(binding);
        }
        for name in parameters {
            self.bind(name);
        }
    }

    /// Closes the innermost frame, and returns the variables that its function captures.
    pub(super) fn close(&mut self, itself: Option<&Name>) -> Box<[Variable]> {
        let Some(frame) = self.frames.pop() else { return Box::default() };
        for name in frame.parameters.iter().rev().chain(itself) {
            self.forget(name);
        }
        frame.captures.into()
    }

    /// Returns the next free slot of the innermost frame.
    pub(super) fn next(&self) -> u32 {
        self.frames.last().map_or(0, |frame| frame.next)
    }

    /// Binds a name to the next free slot of the innermost frame, and returns the slot.
    pub(super) fn bind(&mut self, name: &Name) -> u32 {
        let frame = self.frames.len().saturating_sub(1);
        let Some(top) = self.frames.last_mut() else { return 0 };
        let slot = top.next;
        top.next += 1;
        self.locals.entry(name.clone()).or_default().push(Binding { frame, variable: Variable::Local(slot) });
        slot
    }

    /// Ends the binding of a name, and frees its slot.
    pub(super) fn unbind(&mut self, name: &Name) {
        self.forget(name);
        if let Some(frame) = self.frames.last_mut() {
            frame.next = frame.next.saturating_sub(1);
        }
    }

    /// Ends the innermost binding of a name.
    fn forget(&mut self, name: &Name) {
        if let Some(bindings) = self.locals.get_mut(name) {
            bindings.pop();
            if bindings.is_empty() {
                self.locals.remove(name);
            }
        }
    }

    /// Returns the variable through which the innermost function accesses a name, or `None` if the name is not bound.
    pub(super) fn find(&mut self, name: &Name) -> Option<Variable> {
        let Some(binding) = self.locals.get(name).and_then(|bindings| bindings.last()).copied() else {
            return self.outer.get(name).copied();
        };
        let mut variable = binding.variable;
        for frame in self.frames.iter_mut().skip(binding.frame + 1) {
            variable = frame.capture(variable);
        }
        Some(variable)
    }

    pub(super) fn bind_type(&mut self, variable: &TypeVariable) {
        self.type_variables.push(Arc::clone(variable));
    }

    pub(super) fn unbind_type(&mut self) {
        self.type_variables.pop();
    }

    /// Returns the type variables in scope, the outermost first. Returns `None` if there are none, or if these types
    /// contain no type variable.
    pub(super) fn type_variables_in(&self, types: &[Type]) -> Option<Arc<[TypeVariable]>> {
        let mut used = false;
        if !self.type_variables.is_empty() {
            for of in types {
                of.visit(|part| used |= matches!(part, Type::Variable(_)));
            }
        }
        used.then(|| self.type_variables.as_slice().into())
    }
}

impl Frame {
    /// Returns the variable through which a function accesses a variable of its enclosing function.
    fn capture(&mut self, outer: Variable) -> Variable {
        let key = match outer {
            Variable::Local(slot) => u64::from(slot),
            Variable::Captured(index) => 1 << 32 | u64::from(index),
            Variable::Itself => 2 << 32,
            // Every function can access these variables, so they need no capture.
            Variable::Global(_) | Variable::Message(_) | Variable::Parameter(_) | Variable::Unbound(_) => return outer,
        };
        let next = u32::try_from(self.captures.len()).unwrap_or(u32::MAX);
        let index = *self.known.entry(key).or_insert(next);
        if index == next {
            self.captures.push(outer);
        }
        Variable::Captured(index)
    }
}
