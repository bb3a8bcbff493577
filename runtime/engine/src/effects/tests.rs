//! Names as servers write them.

use super::*;
use serde_json::json;

fn of(name: &str, arguments: &[&str]) -> String {
    let arguments = arguments.iter().map(|&name| (name, None));
    classify("", name, arguments).effects.to_string()
}

#[test]
fn names_of_any_style() {
    for (name, effects) in [
        ("execute", "run"),
        ("TerminalExecute", "run"),
        ("run_terminal_cmd", "run"),
        ("hdel", "destroy"),
        ("gitPush", "write"),
        ("delete-repo", "destroy"),
        ("repo.delete", "destroy"),
        ("DELETE_REPO", "destroy"),
        ("create_or_update_file", "write"),
        ("delete_and_create", "write, destroy"),
        ("grant_guest_access", "grant"),
        ("add_ssh_key", "grant"),
        ("send_email", "send"),
        ("invite_user", "send, grant"),
        ("create_order", "pay"),
        ("create_issue", "publish"),
        ("update_pull_request_branch", "write"),
        ("create_issue_link", "write"),
        ("reply_to_comment", "publish"),
        ("reply_to_thread", "send"),
        ("orders_create", "pay"),
        ("permissionMember.create", "grant"),
        ("merge_pull_request", "write"),
        ("move_email", "write"),
        ("call_service", "act"),
        ("turn_on_lights", "act"),
        ("turn_page", "write"),
        ("unlock", "grant"),
        ("rm", "destroy"),
        ("rotateSecret", "grant"),
        ("remove_members", "grant, destroy"),
        ("delete_access_list", "grant, destroy"),
        ("bash", "run"),
        ("frobnicate", ""),
        ("", ""),
    ] {
        assert_eq!(of(name, &[]), effects, "{name}");
    }
}

#[test]
fn what_only_reads() {
    for name in [
        "get_order",
        "list_shares",
        "get_workflow_run",
        "read_post",
        "order_list",
        "searchPayments",
        "list_permissions",
    ] {
        assert_eq!(of(name, &["order", "share", "to"]), "read", "{name}");
    }
}

#[test]
fn arguments_speak_where_the_name_does_not() {
    assert_eq!(of("terminal_thing", &["command"]), "run");
    assert_eq!(of("widget", &["Script"]), "run");
    assert_eq!(of("widget", &["to", "text"]), "send");
    assert_eq!(of("get_page", &["url"]), "read, fetch");
    assert_eq!(of("list_items", &["command"]), "read");
    assert_eq!(of("http_post", &["url", "body"]), "send, fetch");
    assert_eq!(of("create_event", &["attendees"]), "write, send");
    assert_eq!(of("start_task", &["robot_id"]), "write, act");
    assert_eq!(of("get_task", &["robot_id"]), "read");
}

#[test]
fn values_speak() {
    let schema = json!({"properties": {"action": {"enum": ["list", "delete"]}, "id": {}}});
    let guess = classify("", "manage_permissions", schema_arguments(&schema));
    assert_eq!(guess.effects.to_string(), "read, grant, destroy");
    assert_eq!(
        (guess.always, guess.choice),
        (Effects::NONE, Some("action"))
    );
    let one = |value: &str| of_choice("", "manage_permissions", value).to_string();
    assert_eq!(one("list"), "read");
    assert_eq!(one("DELETE"), "grant, destroy");
    assert_eq!(one("frobnicate"), "");
    let free = json!({"properties": {"action": {"type": "string"}}});
    let guess = classify("", "manage_permissions", schema_arguments(&free));
    assert_eq!(guess.effects.to_string(), "read, write, grant, destroy");
    assert_eq!(guess.choice, Some("action"));
}

#[test]
fn prefixes_are_whole_words_and_no_verbs() {
    let prefix = |names: &[&'static str]| common_prefix(names.iter().copied());
    assert_eq!(prefix(&["slack_post", "slack_list"]), "slack_");
    assert_eq!(prefix(&["slack_post_a", "slack_post_b"]), "slack_post_");
    assert_eq!(prefix(&["get_a", "get_b"]), "");
    assert_eq!(prefix(&["slack_post"]), "");
    assert_eq!(prefix(&[]), "");
}
