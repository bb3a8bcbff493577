//! Programs with verbs that work on something elsewhere: containers, clusters, clouds,
//! packages, services. Verbs that only show are known; whatever else is not, and the policy
//! decides about it.

use super::Word;
use super::command::Command;
use super::options::{Role, Style, parse};
use super::reach::{guess, values};
use super::reader::Unread;

/// One program.
struct Tool {
    names: &'static str,
    /// Options of all its verbs; what is not here makes the command unknown.
    options: &'static str,
    style: Style,
    /// Verbs that only show; `a/b` is the verb `b` of `a`, and `*` stands for the rest of a
    /// word.
    shows: &'static str,
    /// Verbs that change something that can be had again: they run the project's code, or
    /// start and stop what it describes.
    works: &'static str,
    /// Words that no such command may have.
    never: &'static str,
}

const fn tool(
    names: &'static str,
    style: Style,
    options: &'static str,
    shows: &'static str,
    works: &'static str,
    never: &'static str,
) -> Tool {
    Tool {
        names,
        options,
        style,
        shows,
        works,
        never,
    }
}

use Style::{Usual, Words};

const TOOLS: &[Tool] = &[
    tool(
        "docker podman nerdctl",
        Usual,
        "afqsltidTvp n= t= f= tail= since= until= filter= format= follow timestamps details all quiet no-trunc no-stream size last= latest \
         tag= file=x build-arg= target= no-cache pull platform= progress= load detach build force-recreate no-deps remove-orphans \
         services volumes images profiles wait timeout= version help no-color no-log-prefix type= human abort-on-container-exit \
         exit-code-from= rm project-name= profile= no-start env-file=r human size",
        "ps images version info logs inspect top stats port diff history events search system/df system/info system/events volume/ls \
         volume/inspect network/ls network/inspect container/ls container/list container/inspect container/logs container/top \
         container/stats container/port container/diff container/ps image/ls image/list image/inspect image/history context/ls \
         context/show context/inspect compose/ps compose/logs compose/config compose/images compose/top compose/ls compose/version \
         compose/port compose/events buildx/ls buildx/inspect buildx/version buildx/du builder/du manifest/inspect plugin/ls \
         stack/ls stack/ps service/ls service/ps service/logs node/ls machine/ls pod/ps secret/ls config/ls",
        "build compose/build compose/up compose/start compose/stop compose/restart compose/pause compose/unpause compose/create \
         compose/down start stop restart pause unpause container/start container/stop container/restart buildx/build wait",
        "--volumes -v",
    ),
    tool(
        "docker-compose podman-compose",
        Usual,
        "afqtdT f=x n= tail= follow timestamps no-color services all quiet detach build no-deps force-recreate remove-orphans \
         no-cache pull parallel timeout= version help",
        "ps logs config images top ls version port events",
        "build up start stop restart pause unpause create down",
        "--volumes -v",
    ),
    tool(
        "kubectl oc k",
        Usual,
        "AwfpRq n= o= l= c= L= namespace= output= selector= all-namespaces watch follow previous tail= since= since-time= container= \
         timestamps all-containers show-labels show-kind sort-by= field-selector= context= cluster= no-headers limit-bytes= prefix client \
         short recursive api-group= verbs= namespaced= minify for= timeout= revision= max-log-requests= ignore-not-found watch-only \
         label-columns= chunk-size= containers version help types= list",
        "get describe logs version cluster-info explain api-resources api-versions top/* rollout/status rollout/history auth/can-i \
         auth/whoami config/view config/get-contexts config/current-context config/get-clusters config/get-users events wait \
         options plugin/list diff",
        "",
        "secret secrets",
    ),
    tool(
        "helm",
        Usual,
        "aAqd n= o= f=r l= namespace= output= values=r version= revision= all all-namespaces filter= max= short help set= kube-context= \
         strict dependency-update generate-name name-template= show-only= include-crds debug",
        "list ls status history get/* version show/* search/* repo/list dependency/list env template lint inspect/* plugin/list",
        "",
        "",
    ),
    tool(
        "terraform tofu terragrunt",
        Words,
        "- no-color json input= lock= refresh= refresh-only target= var= var-file=r out=w destroy detailed-exitcode compact-warnings \
         parallelism= state=r check diff recursive write= list= chdir=x raw backend= upgrade reconfigure get= help version \
         lock-timeout= test-directory= filter= verbose no-tests",
        "plan validate show output providers version state/list state/show workspace/list workspace/show graph get metadata/functions",
        "fmt init test workspace/select",
        "",
    ),
    tool(
        "gh",
        Usual,
        "cvwa q= R= L= s= S= l= A= B= H= j= u= json= jq= repo= limit= state= search= label= assignee= author= base= head= comments \
         log log-failed job= exit-status verbose watch interval= required name-only patch color= workflow= branch= event= status= user= \
         milestone= mention= app= language= topic= visibility= owner= sort= order= paginate slurp cache= include hostname= version help \
         compact attempt= draft closed merged exclude-drafts exclude-pre-releases archived fork source commit= created= updated= \
         match= merged-at= checks= review= reviewed-by= review-requested= updated= type= yaml template=",
        "pr/list pr/view pr/status pr/checks pr/diff issue/list issue/view issue/status run/list run/view run/watch repo/view repo/list \
         release/list release/view workflow/list workflow/view api search/* label/list gist/list gist/view cache/list status auth/status \
         secret/list variable/list variable/get ruleset/list ruleset/view ruleset/check org/list project/list project/view project/item-list \
         project/field-list extension/list alias/list config/get config/list version help attestation/verify",
        "pr/checkout",
        "--web -w --show-token -t",
    ),
    tool(
        "glab",
        Usual,
        "acvF R= P= p= repo= per-page= page= output= state= all comments version help",
        "mr/list mr/view mr/diff issue/list issue/view ci/list ci/view ci/status ci/trace repo/view release/list release/view version auth/status label/list",
        "",
        "--show-token -t --web",
    ),
    tool(
        "aws",
        Usual,
        "- query= output= region= profile= filters= no-cli-pager max-items= page-size= instance-ids= cluster= clusters= services= names= \
         log-group-name= log-stream-name= log-group-name-prefix= start-time= end-time= since= follow format= filter-pattern= human-readable \
         recursive summarize stack-name= function-name= bucket= prefix= table-name= role-name= user-name= version no-paginate \
         db-instance-identifier= load-balancer-arns= limit= color= no-cli-auto-prompt name= owners= image-ids= vpc-ids= group-ids=",
        "*/describe-* */list-* s3/ls sts/get-caller-identity logs/tail logs/filter-log-events logs/get-log-events configure/list \
         configure/list-profiles cloudwatch/get-metric-statistics lambda/get-function-configuration s3api/get-bucket-location \
         s3api/head-object s3api/head-bucket dynamodb/describe-table help",
        "",
        "secretsmanager ssm",
    ),
    tool(
        "gcloud",
        Usual,
        "q format= filter= project= region= zone= limit= sort-by= quiet location= cluster= freshness= uri verbosity= version help all \
         page-size= show-config",
        "config/list config/get-value config/get info version projects/list projects/describe auth/list components/list logging/read \
         compute/instances/list compute/instances/describe container/clusters/list container/clusters/describe run/services/list \
         run/services/describe functions/list functions/describe app/versions/list sql/instances/list services/list builds/list builds/log \
         builds/describe artifacts/repositories/list",
        "",
        "create delete update ssh scp reset stop start add-metadata set attach-disk access-secret",
    ),
    tool(
        "az",
        Usual,
        "o= g= n= output= query= resource-group= name= subscription= version help all",
        "account/show account/list group/list group/show vm/list vm/show resource/list version aks/list aks/show webapp/list webapp/show acr/list storage/account/list",
        "",
        "",
    ),
    tool(
        "systemctl",
        Usual,
        "alqr n= t= p= o= no-pager full all type= state= user system lines= property= plain no-legend value output= failed recursive reverse version help",
        "status list-units list-unit-files list-timers list-sockets list-dependencies list-jobs show cat is-active is-enabled is-failed \
         is-system-running get-default show-environment help",
        "",
        "",
    ),
    tool("launchctl", Usual, "-", "list print version", "", ""),
    tool(
        "apt apt-get apt-cache aptitude",
        Usual,
        "aq installed upgradable all-versions names-only version help quiet",
        "list show search policy depends rdepends showpkg pkgnames stats madison changelog",
        "",
        "",
    ),
    tool(
        "brew",
        Usual,
        "v1q versions json? installed all formula cask cask formulae casks version greedy verbose prefix tree help quiet",
        "list ls info search outdated deps uses desc home config doctor leaves services/list services/info tap-info log --prefix --version --cellar --cache",
        "",
        "",
    ),
    tool(
        "snap flatpak",
        Usual,
        "- all version columns= app runtime user system",
        "list info find search version remotes history services connections",
        "",
        "",
    ),
    tool(
        "rustup",
        Usual,
        "v installed verbose toolchain= version help quiet",
        "show show/* target/list toolchain/list component/list which check doc help override/list",
        "",
        "--toolchain",
    ),
    tool(
        "uv",
        Usual,
        "qvpUe r=r c=r requirement=r requirements=r extra= group= dev no-dev all-extras all-groups frozen locked upgrade editable quiet \
         verbose no-cache offline outdated format= python= version help depth= package= no-sync check diff fix output-file=w o=w \
         universal seed clear system strict only-dev no-install-project active no-progress fix",
        "tree python/list python/find python/dir pip/list pip/show pip/freeze pip/tree pip/check tool/list cache/dir version export self/version help",
        "sync lock venv build init format pip/install pip/compile pip/sync cache/prune",
        "",
    ),
    tool(
        "poetry",
        Usual,
        "qvnlt with= without= only= only-root no-root extras= all-extras sync tree latest outdated no-interaction no-ansi quiet verbose \
         all version help dry-run no-dev list lock check no-update with-cred f= format= short",
        "show check env/info env/list version about config search list help debug/info",
        "install lock build update",
        "",
    ),
    tool(
        "pipenv pdm hatch rye",
        Usual,
        "qvdG dev deploy quiet verbose version help no-self frozen-lockfile group= bare",
        "graph check list info show env/show version --version fmt",
        "install sync lock build test lint fmt",
        "",
    ),
    tool(
        "bundle bundler",
        Usual,
        "vj j= jobs= path= without= with= quiet verbose local deployment frozen paths name-only parseable strict version help retry=",
        "list show info outdated check env config version doctor platform help",
        "install package",
        "",
    ),
    tool(
        "gem",
        Usual,
        "lrav local remote all versions version help quiet",
        "list info search environment env outdated which contents dependency help",
        "",
        "",
    ),
    tool(
        "composer",
        Usual,
        "noqvtD no-dev no-interaction prefer-dist optimize-autoloader dry-run quiet verbose tree direct outdated version help no-scripts ansi no-ansi no-progress classmap-authoritative strict",
        "show info outdated validate diagnose licenses why depends audit about status check-platform-reqs list help",
        "install dump-autoload dumpautoload test",
        "",
    ),
    tool(
        "dotnet",
        Usual,
        "cvof n c= f= v= o=w r= configuration= framework= verbosity= no-build no-restore runtime= filter= logger= collect= list-sdks \
         list-runtimes info version help nologo interactive self-contained include-transitive outdated project=x results-directory=w \
         verify-no-changes list-tests",
        "list nuget/list sln/list workload/list tool/list --list-sdks --info --version help",
        "build test restore run clean format publish watch sln",
        "",
    ),
    tool(
        "mix",
        Words,
        "- only= trace cover stale failed max-failures= seed= force warnings-as-errors all check-formatted strict format= exclude= include= slowest= dry-run",
        "help deps hex.info hex.outdated phx.routes xref deps.tree app.tree hex.audit",
        "test compile format deps.get deps.compile credo dialyzer ecto.migrate ecto.create phx.server clean docs",
        "",
    ),
    tool(
        "swift",
        Usual,
        "cv c= configuration= filter= parallel verbose product= target= version help skip= enable-code-coverage",
        "package/describe package/show-dependencies --version help",
        "build test run package/resolve package/clean",
        "",
    ),
    tool(
        "flutter dart fvm",
        Usual,
        "vdh d= release debug profile verbose version help coverage name= plain-name= tags= machine set-exit-if-changed fix dry-run",
        "doctor devices --version help analyze pub/deps pub/outdated config",
        "test build format pub/get run clean",
        "",
    ),
    tool(
        "redis-cli valkey-cli",
        Usual,
        "- n= raw no-raw scan bigkeys memkeys stat latency version help pattern=",
        "ping PING info INFO get GET keys KEYS ttl TTL type TYPE exists EXISTS scan SCAN dbsize DBSIZE lrange LRANGE hgetall HGETALL hget \
         HGET smembers SMEMBERS llen LLEN strlen STRLEN time TIME lastsave memory/usage client/list CLIENT/LIST slowlog/get --version",
        "",
        "",
    ),
    tool(
        "pre-commit",
        Usual,
        "av all-files verbose files= hook-stage= from-ref= to-ref= show-diff-on-failure version help color=",
        "validate-config validate-manifest sample-config help",
        "run",
        "",
    ),
];

/// Whether a program is one of these.
pub(super) fn is_tool(name: &str) -> bool {
    find(name).is_some()
}

fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| {
        tool.names
            .split_ascii_whitespace()
            .any(|known| known == name)
    })
}

/// Whether a list of verbs has these words at its beginning.
fn has(list: &str, words: &[&str]) -> bool {
    list.split_ascii_whitespace().any(|verb| {
        let parts: Vec<&str> = verb.split('/').collect();
        parts.len() <= words.len()
            && parts.iter().zip(words).all(|(part, word)| {
                part.strip_suffix('*')
                    .map_or(part == word, |beginning| word.starts_with(beginning))
            })
    })
}

/// The words that may be the verb where an option is not known: it may take the next word
/// for its value.
pub(super) fn may_be_verbs(args: &[Word]) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = false;
    for word in args {
        if word.text.starts_with(['-', '+']) {
            open = !word.text.contains('=');
            continue;
        }
        found.push(word.text.clone());
        if !open {
            break;
        }
        open = false;
    }
    found
}

/// Reads a command of one of these programs.
pub(super) fn tool_command(base: &mut Command, args: &[Word]) -> Result<(), Unread> {
    let name = base.program.clone();
    let Some(tool) = find(&name) else {
        return Ok(());
    };
    let only = args.first().filter(|_| args.len() == 1);
    let asked = only.is_some_and(|word| {
        matches!(
            word.text.as_str(),
            "--version" | "-V" | "-v" | "--help" | "-h" | "version" | "help"
        ) || has(tool.shows, &[word.text.as_str()])
    });
    if asked || args.is_empty() {
        base.known = true;
        base.verb = only.map_or_else(String::new, |word| word.text.clone());
        return Ok(());
    }
    let parsed = parse(&name, tool.options, tool.style, false, args);
    let Ok(parsed) = parsed else {
        base.known = false;
        guess(base, args);
        elsewhere(base, &name);
        return Ok(());
    };
    values(base, &parsed)?;
    // Whatever could be a file counts as read.
    let named = parsed.values.iter().map(|(_, _, word)| word);
    let named = named.chain(parsed.operands.iter().skip(1).copied());
    let files = named.filter(|word| !word.text.contains("://"));
    base.reads.extend(files.map(|word| word.text.clone()));
    let words: Vec<&str> = parsed
        .operands
        .iter()
        .map(|word| word.text.as_str())
        .collect();
    let mut operands = parsed.texts();
    if !operands.is_empty() {
        base.verb = operands.remove(0);
    }
    base.described(&parsed.shown, operands);
    let never = |word: &&Word| {
        tool.never
            .split_ascii_whitespace()
            .any(|never| word.text.split(['/', ',']).any(|part| part == never))
    };
    let shows = has(tool.shows, &words);
    let works = has(tool.works, &words);
    let dynamic = args.iter().any(|word| word.dynamic);
    base.known = (shows && !dynamic || works) && !args.iter().any(|word| never(&word));
    // `owner/name` and addresses lead elsewhere than the project's own.
    let far = words.iter().any(|word| word.contains("://"));
    base.known &= !far;
    if works {
        base.runs.push(".".to_owned());
        if matches!(
            name.as_str(),
            "uv" | "poetry" | "composer" | "bundle" | "pipenv"
        ) {
            base.known &= words.len() <= 2;
        }
        let paths = parsed.operands.iter().skip(1).filter(|word| {
            word.text.starts_with(['/', '~']) || word.text.split('/').any(|part| part == "..")
        });
        base.runs.extend(paths.map(|word| word.text.clone()));
    }
    let files = parsed
        .values
        .iter()
        .filter(|(_, role, _)| *role == Role::Text)
        .any(|(_, _, word)| word.text.starts_with('@') || word.text.contains("file://"));
    base.known &= !files;
    if !base.known {
        guess(base, args);
        elsewhere(base, &name);
    }
    Ok(())
}

/// Whatever is not only shown may be sent to where the program works.
fn elsewhere(base: &mut Command, name: &str) {
    let host = match name {
        "gh" => "github.com",
        "glab" => "gitlab.com",
        _ => return,
    };
    (base.connects, base.sends) = (true, true);
    base.destinations.push(host.to_owned());
}

/// Whether a statement of SQL on the command line only reads, and names no file.
pub(super) fn reads_only(text: &str) -> bool {
    let small = text.trim().to_ascii_lowercase();
    let begins = [
        "select ",
        "select\n",
        "show ",
        "describe ",
        "desc ",
        "explain select",
        ".tables",
        ".schema",
        ".headers",
        ".mode",
        "pragma table_info",
        ".indexes",
        "\\d",
        "\\l",
        "\\conninfo",
        "select count",
        ".dbinfo",
        "explain query plan select",
    ];
    let never = [
        "file",
        "load_extension",
        "edit(",
        "into ",
        "attach",
        "lo_",
        "copy",
        "dblink",
        "exec",
        "|",
        "program",
        "\\!",
        "\\o",
        "\\g",
        "pg_read",
        "pg_ls",
        "pg_sleep",
        "set_config",
        "fts3_tokenizer",
        "`",
        "writefile",
        "benchmark",
        "sys_",
        "xp_",
        ".shell",
        ".system",
        ".output",
        ".once",
        ".import",
        ".open",
        ".read",
        ".load",
        ".save",
        ".backup",
        "nextval",
        "setval",
        "delete",
        "update",
        "insert",
        "drop",
        "alter",
        "truncate",
        "terminate",
        "reload",
    ];
    begins.iter().any(|word| small.starts_with(word))
        && !never.iter().any(|word| small.contains(word))
        && !small.trim_end_matches(';').contains(';')
}
