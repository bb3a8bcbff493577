//! The `bouncer` command: parses the command line and hands over to one module a
//! subcommand.

mod cli;
mod cmd;
mod output;
mod progress;
mod request;
mod serve;
mod source;
mod ui;

use clap::{CommandFactory, FromArgMatches, Parser};
use cli::{Cli, Command, HookOnly};
use std::process::ExitCode;

/// Help and errors always come from the whole command line's parser.
fn parse() -> Result<Cli, clap::Error> {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|name| name == "hook")
        && let Ok(cli) = Cli::<HookOnly>::try_parse()
    {
        let HookOnly::Hook(args) = cli.command;
        return Ok(Cli {
            color: cli.color,
            command: Command::Hook(args),
        });
    }
    let matches = cli::grouped(<Cli>::command()).try_get_matches()?;
    <Cli>::from_arg_matches(&matches)
}

fn main() -> ExitCode {
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers; everything else is a usage error.
            let code = if error.use_stderr() { output::USAGE } else { 0 };
            if error.print().is_err() {
                return ExitCode::from(output::ERROR);
            }
            return ExitCode::from(code);
        }
    };
    output::choose_colour(cli.color);
    let result = match cli.command {
        Command::Compile(args) => cmd::compile::run(&args),
        Command::Check(args) => cmd::check::run(&args),
        Command::Why(args) => cmd::why::run(&args),
        Command::Report(args) => cmd::report::run(&args),
        Command::Replay(args) => cmd::replay::run(&args),
        Command::Verify(args) => cmd::verify::run(&args),
        Command::Diff(args) => cmd::diff::run(&args),
        Command::Test(args) => cmd::test::run(&args),
        Command::Schema => cmd::schema::run(),
        Command::Run(args) => cmd::run::command(args),
        Command::Gateway(args) => cmd::gateway::command(args),
        Command::Init(args) => cmd::init::run(&args),
        Command::Uninstall(args) => cmd::uninstall::run(&args),
        Command::Serve(args) => cmd::serve::run(args),
        Command::Doctor(args) => cmd::doctor::run(&args),
        Command::Halt(args) => cmd::halt::halt(&args),
        Command::Resume(args) => cmd::halt::resume(&args),
        Command::Policy(args) => match &args.command {
            cli::PolicyCommand::Suggest(args) => cmd::suggest::run(args),
        },
        Command::Hook(args) => cmd::hook::run(&args),
        Command::Pin(args) => cmd::pin::command(args),
        Command::List(args) => cmd::approvals::list(&args),
        Command::Approve(args) => cmd::approvals::approve(&args),
        Command::Deny(args) => cmd::approvals::deny(&args),
        Command::Watch(args) => cmd::approvals::watch(&args),
        Command::Audit(args) => cmd::audit::run(args),
        Command::Inspect(args) => cmd::inspect::run(&args),
        Command::Bench(args) => cmd::bench::run(&args),
        Command::Explain(args) => cmd::explain::run(&args),
        Command::Packs(args) => cmd::packs::run(&args.command),
        Command::Demo(args) => cmd::demo::run(&args),
        Command::DemoServer => cmd::demo_server::run(),
        Command::Completions { shell } => cmd::shell::completions(shell, &mut <Cli>::command()),
        Command::Man { out } => cmd::shell::man(out.as_deref(), <Cli>::command()),
    };
    output::exit(result)
}
