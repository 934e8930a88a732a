//! The types of the five recursion principles.

use std::sync::Arc;

use crate::{name::Name, types::Type};

/// Returns the names and types of the recursion principles.
pub(super) fn types() -> [(Name, Type); 5] {
    let (a, b, t) = (|| Type::Variable("'A".into()), || Type::Variable("'B".into()), || Type::Variable("'T".into()));
    let over_list = |step: Type, result: Type| {
        let fold = functions([step, result.clone(), Type::list(a())], result);
        forall("'A", forall("'B", fold))
    };
    let over_nat = |step: Type| forall("'T", functions([step, t(), Type::nat()], t()));
    let continued = |of: Type| Type::function(of.clone(), of);
    [
        (Name::simple("nat_fold"), over_nat(functions([t(), Type::nat()], t()))),
        (Name::simple("nat_foldk"), over_nat(functions([t(), Type::nat(), continued(t())], t()))),
        (Name::simple("list_foldl"), over_list(functions([b(), a()], b()), b())),
        (Name::simple("list_foldr"), over_list(functions([a(), b()], b()), b())),
        (Name::simple("list_foldk"), over_list(functions([b(), a(), continued(b())], b()), b())),
    ]
}

fn functions<const N: usize>(from: [Type; N], to: Type) -> Type {
    from.into_iter().rev().fold(to, |to, from| Type::function(from, to))
}

fn forall(variable: &str, body: Type) -> Type {
    Type::Forall(variable.into(), Arc::new(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn principles_have_their_types() {
        let texts = types().map(|(name, ty)| format!("{} : {}", name.global(), ty.global()));
        let expected = [
            "nat_fold : forall 'T. ('T -> Nat -> 'T) -> 'T -> Nat -> 'T",
            "nat_foldk : forall 'T. ('T -> Nat -> ('T -> 'T) -> 'T) -> 'T -> Nat -> 'T",
            "list_foldl : forall 'A. forall 'B. ('B -> 'A -> 'B) -> 'B -> List ('A) -> 'B",
            "list_foldr : forall 'A. forall 'B. ('A -> 'B -> 'B) -> 'B -> List ('A) -> 'B",
            "list_foldk : forall 'A. forall 'B. ('B -> 'A -> ('B -> 'B) -> 'B) -> 'B -> List ('A) -> 'B",
        ];
        assert_eq!(texts, expected);
    }
}
