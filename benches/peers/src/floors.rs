//! What no engine that reads the message can beat, and pieces to compare with.

use crate::engines::Calls;
use crate::timing::Work;
use regex_automata::dfa::Automaton;
use regex_automata::{Input, MatchKind, dfa::dense};
use serde::de::IgnoredAny;
use std::collections::HashSet;
use std::rc::Rc;

/// A piece of work to compare with.
pub struct Floor {
    pub name: &'static str,
    pub work: Box<dyn Work>,
}

/// All of them.
pub fn all(calls: &Calls) -> Vec<Floor> {
    let ignore_message = {
        let calls = Rc::clone(calls);
        move |k: usize| serde_json::from_str::<IgnoredAny>(&calls[k].message).is_err()
    };
    let ignore_arguments = {
        let calls = Rc::clone(calls);
        move |k: usize| serde_json::from_str::<IgnoredAny>(&calls[k].arguments).is_err()
    };
    let value = {
        let calls = Rc::clone(calls);
        move |k: usize| serde_json::from_str::<serde_json::Value>(&calls[k].message).is_err()
    };
    let dfa = {
        let patterns: Vec<String> = (0..100)
            .map(|i| format!("forbidden_word_{i}_end"))
            .collect();
        let config = dense::Config::new().match_kind(MatchKind::All);
        let dfa = dense::Builder::new()
            .configure(config)
            .build_many(&patterns)
            .unwrap();
        let texts: Vec<String> = calls
            .iter()
            .map(|call| call.value["query"].as_str().unwrap_or_default().to_owned())
            .collect();
        move |k: usize| {
            dfa.try_search_fwd(&Input::new(&texts[k]))
                .unwrap()
                .is_some()
        }
    };
    let names: HashSet<String> = calls.iter().map(|call| call.tool.clone()).collect();
    let calls = Rc::clone(calls);
    let look_up = move |k: usize| names.contains(&calls[k].tool);
    let floor = |name, work| Floor { name, work };
    vec![
        floor(
            "`IgnoredAny` over the message",
            Box::new(ignore_message) as Box<dyn Work>,
        ),
        floor(
            "`IgnoredAny` over the arguments",
            Box::new(ignore_arguments),
        ),
        floor("`serde_json::Value` of the message", Box::new(value)),
        floor("dense DFA over `query`", Box::new(dfa)),
        floor("look-up of the tool in a `HashSet`", Box::new(look_up)),
    ]
}
