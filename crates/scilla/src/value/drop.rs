//! Drops deep values without recursion, so that a drop cannot overflow the stack.

use std::{mem, sync::Arc};

use super::{AdtValue, Closure, Message, Value, map::Node};

/// Largest depth of a value for which the drop code of the compiler recurses.
const SHALLOW: u32 = 200;

/// A part that remains to be dropped.
pub(super) enum Pending {
    Tree(Arc<Node>),
    Value(Value),
}

impl Drop for AdtValue {
    fn drop(&mut self) {
        if self.depth() > SHALLOW {
            drop_all(mem::take(&mut self.arguments).into_iter().map(Pending::Value).collect());
        }
    }
}

impl Drop for Closure {
    fn drop(&mut self) {
        if self.depth() > SHALLOW {
            let mut pending = Vec::new();
            dismantle_closure(self, &mut pending);
            drop_all(pending);
        }
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        if self.depth() > SHALLOW {
            drop_all(mem::take(&mut self.entries).into_iter().map(|entry| Pending::Value(entry.value)).collect());
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if self.depth() > SHALLOW {
            let mut pending = Vec::new();
            self.dismantle(&mut pending);
            drop_all(pending);
        }
    }
}

/// Drops values one after the other. Before a value is dropped, its unshared parts move to the queue. So the dropped
/// value has no unshared parts, and the drop does not recurse.
fn drop_all(mut pending: Vec<Pending>) {
    while let Some(next) = pending.pop() {
        match next {
            Pending::Tree(node) => {
                if let Some(mut node) = Arc::into_inner(node) {
                    node.dismantle(&mut pending);
                }
            }
            Pending::Value(value) => dismantle(value, &mut pending),
        }
    }
}

/// Moves the arguments of a function to the queue, and its captured values if no other function shares them.
fn dismantle_closure(closure: &mut Closure, pending: &mut Vec<Pending>) {
    pending.extend(closure.applied.drain(..).map(Pending::Value));
    if let Some(captured) = Arc::get_mut(&mut closure.captured) {
        let values = captured.iter_mut().map(|value| mem::replace(value, Value::bool(false)));
        pending.extend(values.map(Pending::Value));
    }
}

fn dismantle(value: Value, pending: &mut Vec<Pending>) {
    match value {
        Value::Adt(value) => {
            if let Some(mut value) = Arc::into_inner(value) {
                pending.extend(value.arguments.drain(..).map(Pending::Value));
            }
        }
        Value::Closure(closure) | Value::TypeClosure(closure) => {
            if let Some(mut closure) = Arc::into_inner(closure) {
                dismantle_closure(&mut closure, pending);
            }
        }
        Value::Map(map) => pending.extend(map.into_root().map(Pending::Tree)),
        Value::Message(message) => {
            if let Some(mut message) = Arc::into_inner(message) {
                pending.extend(message.entries.drain(..).map(|entry| Pending::Value(entry.value)));
            }
        }
        Value::BNum(_) | Value::ByStr(_) | Value::ByStrX(_) | Value::Integer(_) | Value::String(_) => {}
    }
}
