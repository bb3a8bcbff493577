//! `bouncer run` between the official MCP SDKs' clients and real servers.
//!
//! What is tested stands in `tests/e2e/`: two runners of the same scenarios, one for each
//! SDK, and one for the TypeScript SDK's version 2. This file installs what they need, at pinned versions, into `target/e2e/`, and
//! runs them. Needs Node 20 with npm, Python 3.11 with pip, and their registries; that one
//! of them is missing is a failure, because a test that skips itself tests nothing.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A runner that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(300);

#[test]
fn a_file_server_is_confined_and_its_budget_holds() {
    both("filesystem");
}

#[test]
fn links_do_not_lead_out() {
    both("symlink");
}

#[test]
fn the_sink_gate_allows_denies_and_asks() {
    both("sink_gate");
}

#[test]
fn the_proxy_changes_nothing_else() {
    both("everything");
}

#[test]
fn changed_and_new_tools_are_blocked() {
    both("pinning");
}

#[test]
fn pinned_tools_are_held_to_their_lock() {
    both("lock");
}

#[test]
fn calls_are_taken_back_and_servers_crash() {
    both("interruptions");
}

#[test]
fn nothing_outlives_the_client() {
    both("shutdown");
}

/// Version 1 of the TypeScript SDK does not speak it; version 2 has tests of its own.
#[test]
fn the_protocol_without_a_handshake_is_gated() {
    let failures = python("newer_protocol");
    assert!(failures.is_empty(), "{failures}");
}

/// With the Python SDK's client only.
#[test]
fn a_gateway_shows_each_server_as_it_is() {
    let failures = python("gateway");
    assert!(failures.is_empty(), "{failures}");
}

/// With the Python SDK's client only.
#[test]
fn over_http_it_is_the_same_gateway() {
    let failures = python("gateway_http");
    assert!(failures.is_empty(), "{failures}");
}

/// With the Python SDK's client and server.
#[test]
fn servers_of_the_newer_protocol_are_gated_for_all() {
    let failures = python("gateway_newer");
    assert!(failures.is_empty(), "{failures}");
}

/// Version 2 of the TypeScript SDK is a client, and a server, of both protocols.
#[test]
fn version_2_of_the_sdk_is_gated_in_both_protocols() {
    let failures = typescript_2("proxy");
    assert!(failures.is_empty(), "{failures}");
}

/// The same through the gateway.
#[test]
fn version_2_of_the_sdk_meets_the_gateway() {
    let failures = typescript_2("gateway");
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn version_2_of_the_sdk_meets_the_gateway_over_http() {
    let failures = typescript_2("gateway_http");
    assert!(failures.is_empty(), "{failures}");
}

/// With the Python SDK's client only.
#[test]
fn bouncers_own_server_answers() {
    let failures = python("serve");
    assert!(failures.is_empty(), "{failures}");
}

/// Runs one scenario with both SDKs.
fn both(scenario: &str) {
    let failures = python(scenario) + &typescript(scenario);
    assert!(failures.is_empty(), "{failures}");
}

/// Runs one scenario with the Python SDK; what failed, or nothing.
fn python(scenario: &str) -> String {
    let installed = installed();
    let mut command = Command::new(&installed.interpreter);
    command
        .env("PYTHONPATH", installed.work.join("python"))
        .arg(sources().join("client.py"));
    run("python", command, scenario, installed)
}

/// The same with the TypeScript SDK.
fn typescript(scenario: &str) -> String {
    let mut command = Command::new("node");
    command.arg(sources().join("client.mjs"));
    run("typescript", command, scenario, installed())
}

/// With its version 2, in scenarios of its own.
fn typescript_2(scenario: &str) -> String {
    let mut command = Command::new("node");
    command.arg(sources().join("client_v2.mjs"));
    run("typescript-2", command, scenario, installed())
}

/// Runs one runner; what failed, or nothing.
fn run(sdk: &str, mut command: Command, scenario: &str, installed: &Installed) -> String {
    let file = |what: &str| installed.work.join(format!("{sdk}-{scenario}.{what}"));
    let (checks, errors) = (file("jsonl"), file("log"));
    let mut child = command
        .arg(env!("CARGO_BIN_EXE_bouncer"))
        .arg(&installed.work)
        .arg(scenario)
        .env("PYTHON", &installed.interpreter)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::null())
        .stdout(File::create(&checks).unwrap())
        .stderr(File::create(&errors).unwrap())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.to_string();
        }
        if start.elapsed() > LIMIT {
            child.kill().unwrap();
            child.wait().unwrap();
            break "it took too long".to_owned();
        }
        sleep(Duration::from_millis(20));
    };
    let checks = fs::read_to_string(checks).unwrap();
    let (held, failed): (Vec<_>, Vec<_>) = checks.lines().partition(|line| {
        serde_json::from_str(line).is_ok_and(|line: serde_json::Value| line["ok"] == true)
    });
    println!("{sdk}: {} checks of `{scenario}` hold", held.len());
    if status == "exit status: 0" && failed.is_empty() && !held.is_empty() {
        return String::new();
    }
    let errors = fs::read_to_string(errors).unwrap();
    format!(
        "\n{sdk}, `{scenario}`: {status}, {} checks hold, these do not:\n{}\n\
         On standard error:\n{errors}\n",
        held.len(),
        failed.join("\n")
    )
}

/// What the runners need.
struct Installed {
    /// `target/e2e/`.
    work: PathBuf,
    /// The Python interpreter.
    interpreter: String,
}

/// A Python, and the directory of the libraries that the tests install for it.
pub fn python_with_libraries() -> (String, PathBuf) {
    let installed = installed();
    (installed.interpreter.clone(), installed.work.join("python"))
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e")
}

/// Installs once for all tests.
fn installed() -> &'static Installed {
    static INSTALLED: OnceLock<Result<Installed, String>> = OnceLock::new();
    match INSTALLED.get_or_init(install) {
        Ok(installed) => installed,
        Err(why) => panic!("{why}"),
    }
}

/// Installs, unless what is there is of the same versions.
fn install() -> Result<Installed, String> {
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("e2e");
    fs::create_dir_all(&work).unwrap();
    // Another test process may be at it. The lock ends with the file.
    let lock = File::create(work.join("lock")).unwrap();
    lock.lock().unwrap();

    let read = |name: &str| fs::read_to_string(sources().join(name)).unwrap();
    let (package, package_lock) = (read("package.json"), read("package-lock.json"));
    let node = output(Command::new("node").arg("--version"))?;
    let (interpreter, version) = interpreter()?;
    let requirements = read("requirements.txt");
    let stamp = format!("{node}{version}{package}{package_lock}{requirements}");
    let stamp_file = work.join("stamp");
    if fs::read_to_string(&stamp_file).is_ok_and(|text| text == stamp) {
        return Ok(Installed { work, interpreter });
    }

    for left in ["node_modules", "python", "scratch"] {
        let left = work.join(left);
        if left.exists() {
            fs::remove_dir_all(left).unwrap();
        }
    }
    fs::write(work.join("package.json"), package).unwrap();
    fs::write(work.join("package-lock.json"), package_lock).unwrap();
    output(
        Command::new("npm")
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(&work),
    )?;
    // Not a virtual environment: some systems' Python cannot make one.
    output(
        Command::new(&interpreter)
            .args(["-m", "pip", "install", "--no-deps", "--quiet"])
            .args(["--disable-pip-version-check", "--target"])
            .arg(work.join("python"))
            .arg("-r")
            .arg(sources().join("requirements.txt")),
    )?;
    fs::write(stamp_file, stamp).unwrap();
    Ok(Installed { work, interpreter })
}

/// A Python that is new enough, and its version.
fn interpreter() -> Result<(String, String), String> {
    let mut tried = String::new();
    let named = std::env::var("PYTHON").ok();
    let usual = ["python3.11", "python3", "python"].map(str::to_owned);
    for name in named.into_iter().chain(usual) {
        let check = "import sys; print(sys.version); sys.exit(sys.version_info < (3, 11))";
        match output(Command::new(&name).args(["-c", check])) {
            Ok(version) => return Ok((name, version)),
            Err(why) => tried.push_str(&why),
        }
    }
    Err(format!(
        "the end-to-end tests need Python 3.11 or newer; name it in PYTHON:\n{tried}"
    ))
}

/// Runs a command; what it printed, or why it failed.
fn output(command: &mut Command) -> Result<String, String> {
    let what = format!("{command:?}");
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("the end-to-end tests need this to work: {what}: {error}\n"))?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(printed);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "the end-to-end tests need this to work: {what}: {}\n{printed}\n{errors}\n",
        output.status
    ))
}
