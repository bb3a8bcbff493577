//! The programs that are known: their options, and what their operands are. Whoever adds
//! one has to be sure of every option in its row; an option that is left out is asked
//! about.

use super::options::Style;

/// What a program's operands are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// Text that is printed or compared.
    Text,
    /// Files that are read, or looked at.
    Reads,
    /// A pattern, then files that are read; without any, the directory.
    Pattern,
    /// Files that are written.
    Writes,
    /// Files that are read, then one that is written.
    Copies,
    /// Files that are written, the last perhaps a directory that takes the others.
    Moves,
    /// A file that is read, then one that is written.
    InOut,
    /// A script, then its own words.
    Script,
    /// What a build tool is told to do: files and names, for the project's own code.
    Build,
    /// Whatever its words are, it runs the project's own code or settings.
    Project,
    /// A database, and statements.
    Query,
    /// A verb of a build tool, from the list behind the bar.
    Verb,
    /// Hosts.
    Hosts,
    /// A machine to log in to or to copy to; always sends.
    Remote,
    /// It is read by code of its own.
    Own,
}

/// A row of the table.
#[derive(Debug)]
pub struct Program {
    /// Its names.
    names: &'static str,
    /// Its options, as `options::find` takes them.
    pub options: &'static str,
    /// How they are written.
    pub style: Style,
    /// No option of it can do anything but read and print.
    pub harmless: bool,
    /// What its operands are.
    pub operands: Operands,
    /// Verbs that are known, where it has any.
    pub verbs: &'static str,
}

const fn harmless(names: &'static str, operands: Operands, options: &'static str) -> Program {
    Program {
        names,
        options,
        style: Style::Usual,
        harmless: true,
        operands,
        verbs: "",
    }
}

const fn usual(names: &'static str, operands: Operands, options: &'static str) -> Program {
    Program {
        names,
        options,
        style: Style::Usual,
        harmless: false,
        operands,
        verbs: "",
    }
}

const fn leading(names: &'static str, operands: Operands, options: &'static str) -> Program {
    Program {
        names,
        options,
        style: Style::Leading,
        harmless: false,
        operands,
        verbs: "",
    }
}

const fn verbs(
    names: &'static str,
    style: Style,
    options: &'static str,
    verbs: &'static str,
) -> Program {
    Program {
        names,
        options,
        style,
        harmless: false,
        operands: Operands::Verb,
        verbs,
    }
}

use Operands::{
    Build, Copies, Hosts, InOut, Moves, Own, Pattern, Project, Query, Reads, Remote, Script, Text,
    Writes,
};

/// All of them.
const PROGRAMS: &[Program] = &[
    // What only prints.
    harmless(
        "echo true false : pwd sleep seq whoami id uname tty nproc uptime free printenv which \
         basename dirname expr logname groups locale cal ncal getconf sw_vers exit return break continue \
         shift wait times tr ps pgrep umask popd dirs kill pkill killall yes numfmt factor users who w \
         last uptime lscpu lsblk lsusb lspci lsmod vmstat iostat mpstat dmesg ulimit stty tput clear hostid pathchk \
         nproc pidof pstree ipcs lsns findmnt getfacl getopt netstat vm_stat ioreg \
         system_profiler whereis apropos whatis mdfind mdls lsof",
        Text,
        "-",
    ),
    // `-D` writes a file, `-F` reads one.
    usual(
        "ss",
        Text,
        "nrlatuxwpemiosbH460dE numeric resolve listening all tcp udp unix raw processes extended memory info options summary no-header",
    ),
    usual(
        "date",
        Text,
        "uRI d= date= r=r utc iso-8601? rfc-3339= reference=r",
    ),
    // What reads files and prints.
    harmless(
        "cat tac nl head tail wc cut paste comm fold expand unexpand column rev md5sum sha1sum \
         sha256sum sha512sum shasum cksum b2sum sum cmp od hexdump strings tsort join base32 zcat \
         gzcat ls stat df realpath readlink bzcat xzcat zstdcat lz4cat \
         lsattr pr fmt wdiff tokei exa eza lsd hexyl \
         pdfinfo zipinfo zipgrep lzcat dust procs duf sha224sum sha384sum crc32 ",
        Reads,
        "- n= c= lines= bytes= d= f= s=",
    ),
    usual(
        "diff",
        Reads,
        "uqrNbBwiayslpt0123456789 U= C= unified? brief recursive color? ignore-all-space exclude= x= I= new-file side-by-side width= W= strip-trailing-cr",
    ),
    usual("file", Reads, "bhiLkNsz mime mime-type brief dereference"),
    usual(
        "tree",
        Reads,
        "adfilspughDFCJ L= I= P= noreport dirsfirst gitignore prune du sort= filelimit= charset= matchdirs ignore-case fromfile timefmt= info",
    ),
    usual("base64", Reads, "dDi w= b= wrap= decode ignore-garbage"),
    usual(
        "sort",
        Reads,
        "bdfghiMnRrVcCmsuz k= t= o=w S= output=w key= field-separator= reverse unique numeric-sort human-numeric-sort version-sort parallel= stable check",
    ),
    usual(
        "uniq",
        InOut,
        "cdDuiz f= s= w= count repeated unique ignore-case skip-fields=",
    ),
    Program {
        names: "xxd",
        options: "- a b e E i p ps plain postscript r revert u v c= cols= g= groupsize= l= len= s= seek= o= C capitalize include",
        style: Style::Words,
        harmless: false,
        operands: InOut,
        verbs: "",
    },
    usual("man", Reads, "kfaw s= S= whatis apropos where"),
    usual(
        "journalctl",
        Text,
        "aefkqrxmbn t= g= o= S= U= u= p= since= until= unit= user-unit= lines? priority= identifier= grep= output= no-pager follow \
         reverse catalog all boot? dmesg utc no-hostname quiet user system list-boots disk-usage case-sensitive? no-tail",
    ),
    usual("look", Pattern, "abdf t="),
    harmless(
        "grep egrep fgrep",
        Pattern,
        "- e=p f=r A= B= C= m= regexp=p file=r include= exclude= exclude-dir= after-context= before-context= context= max-count=",
    ),
    usual(
        "rg",
        Pattern,
        "nNilLcovwxsSFPUuHIahq0. e=p f=r g= t= T= A= B= C= m= r= M= j= E= regexp=p file=r glob= iglob= type= type-not= after-context= \
         before-context= context= max-count= replace= max-columns= max-depth= sort= color= colors= json files files-with-matches \
         files-without-match count count-matches ignore-case smart-case case-sensitive fixed-strings multiline word-regexp line-number \
         no-line-number no-heading heading hidden no-ignore no-ignore-vcs invert-match only-matching pcre2 stats trim vimgrep \
         with-filename no-filename type-list version no-messages passthru text unrestricted quiet column",
    ),
    usual(
        "jq jaq gojq",
        Pattern,
        "ncrRsSeCMaj0 f=r from-file=r indent= tab arg== argjson== slurpfile==r rawfile==r args jsonargs null-input compact-output raw-output \
         raw-input slurp sort-keys exit-status color-output monochrome-output ascii-output join-output stream seq unbuffered version help raw-output0",
    ),
    usual(
        "yq",
        Pattern,
        "rnjePCMyYscaxN o= p= I= output-format= input-format= indent= prettyPrint raw-output null-input colors no-colors unwrapScalar? exit-status tojson no-doc sort-keys compact-output version help",
    ),
    usual(
        "xmllint",
        Reads,
        "- format noout xpath= nonet recover html version noblanks stream",
    ),
    usual("unzip", Reads, "lvtzqpZ12 list verbose"),
    usual("openssl", Text, "- version"),
    usual(
        "du",
        Reads,
        "ahsckmxLDlPbBS0 d= t= max-depth= exclude= summarize human-readable total all apparent-size time? si one-file-system bytes",
    ),
    usual("less more most", Reads, "NRSFXiIeqnEGM"),
    usual(
        "bat batcat",
        Reads,
        "npAuP r= l= style= plain paging= color= language= line-range= number theme= wrap= show-all decorations= highlight-line=",
    ),
    usual(
        "nm",
        Reads,
        "aABCDfgnopPrsSuvVlj demangle defined-only undefined-only extern-only size-sort numeric-sort dynamic",
    ),
    usual(
        "objdump",
        Reads,
        "dDhxsStTrRCfawlp j= M= disassemble source syms headers all-headers demangle no-show-raw-insn start-address= stop-address= section= full-contents",
    ),
    usual(
        "readelf size",
        Reads,
        "aehlSsnrdVWCgtuABt p= x= j= all headers segments sections symbols wide",
    ),
    usual(
        "dpkg dpkg-query",
        Text,
        "lsLSWp f= list status listfiles search version",
    ),
    usual("rpm", Text, "qal query all list version"),
    usual("top", Text, "bcHiS n= d= p= u= o= w="),
    usual("java", Text, "- -version version -fullversion help"),
    usual("tsc rustc rustdoc ", Project, "-"),
    usual(
        "pytest py.test ruff mypy black isort flake8 pylint pyright bandit pydocstyle eslint prettier jest vitest mocha ava cypress \
         rustfmt gofmt goimports golangci-lint staticcheck shellcheck shfmt hadolint yamllint markdownlint stylelint biome oxlint \
         ctest ninja rspec rubocop phpunit phpstan mvn gradle hlint ktlint detekt checkstyle spotbugs swiftlint \
         swiftformat clang-format clang-tidy cppcheck cpplint nextest tox nox webpack rollup vite esbuild parcel swc \
         next nuxt astro turbo knip depcheck tslint xo standard size-limit playwright storybook \
         sphinx-build jekyll hugo buf sqlfluff tflint tfsec checkov actionlint commitlint vulture \
         coverage interrogate autopep8 yapf pyupgrade autoflake djlint elm-test credo scalafmt terraform-docs",
        Project,
        "-",
    ),
    usual(
        "sqlite3",
        Query,
        "- header readonly csv json line list column box table html markdown batch separator= nullvalue= cmd= version -header -readonly -csv -json -line -list -column -batch -separator= -nullvalue= -version -box -table -markdown",
    ),
    usual(
        "psql",
        Query,
        "lAtqxXe c= d= U= F= command= dbname= username= list tuples-only no-align version expanded no-psqlrc csv",
    ),
    usual(
        "mysql mariadb",
        Query,
        "BNsvtEVD e= D= u= execute= database= user= version table batch silent vertical",
    ),
    usual(
        "fd fdfind",
        Pattern,
        "HIugsiaLp0l1q t= e= E= d= S= max-depth= type= extension= exclude= hidden no-ignore glob fixed-strings absolute-path full-path follow color= size= changed-within= changed-before=",
    ),
    // What writes files.
    usual(
        "rm",
        Writes,
        "rfRdvIi force recursive verbose dir one-file-system preserve-root",
    ),
    usual(
        "rmdir unlink",
        Writes,
        "pv parents verbose ignore-fail-on-non-empty",
    ),
    usual("mkdir", Writes, "pv m= parents verbose mode="),
    usual(
        "touch",
        Writes,
        "acmhf d= t= r=r date= reference=r no-create",
    ),
    usual("truncate", Writes, "co s= r=r size= reference=r no-create"),
    usual("tee", Writes, "aip append ignore-interrupts"),
    usual("shred", Writes, "fuvxz n= s="),
    usual("mkfifo", Writes, "m= mode="),
    usual(
        "chmod chown chgrp",
        Writes,
        "Rvfchrwxst recursive verbose changes quiet reference=r",
    ),
    usual(
        "gzip gunzip bzip2 bunzip2 xz unxz zstd",
        Writes,
        "dkfvtlcnq123456789 T= keep force decompress stdout best fast verbose",
    ),
    usual(
        "cp",
        Copies,
        "aRrfivpunPLHdsx t=t target-directory=t recursive force verbose archive no-clobber update interactive dereference no-dereference preserve? no-preserve= parents symbolic-link link reflink? l",
    ),
    usual(
        "install",
        Copies,
        "CDdpv m= o= g= t=t mode= owner= group= target-directory=t directory",
    ),
    usual(
        "mv",
        Moves,
        "finuvb t=t target-directory=t force verbose no-clobber update interactive backup?",
    ),
    usual(
        "ln",
        Moves,
        "sfnvirhb t=t target-directory=t symbolic force relative no-dereference verbose",
    ),
    // What runs the project's code.
    leading(
        "python python2 python3 pypy pypy3",
        Script,
        "bBdEIOsSuvVx version m=",
    ),
    leading(
        "node nodejs",
        Script,
        "v version test watch no-warnings enable-source-maps trace-warnings max-old-space-size= trace-uncaught test-reporter= test-only test-name-pattern=",
    ),
    leading(
        "perl ruby php lua luajit Rscript julia",
        Script,
        "vwW version vanilla",
    ),
    verbs(
        "cargo",
        Style::Usual,
        "vqhVFrdn p= j= F= package= exclude= features= bin= example= test= bench= jobs= profile= target= manifest-path=x target-dir=w \
         message-format= color= workspace all all-targets all-features no-default-features release lib bins examples tests benches \
         verbose quiet locked frozen offline no-run no-fail-fast keep-going doc no-deps open document-private-items check fix \
         allow-dirty allow-staged depth= edges= i= e= duplicates format-version= dry-run precise= version help name= \
         edition= vcs= dev build timings? path=x root=w force list bench= benches unit-graph ignore-rust-version prefix= charset= \
         no-dedupe no-dev-dependencies filter-platform= invert? duplicates workspace show-output color= advisories bans licenses sources \
         all-targets explain message-format= lcov html ignore= deny= hide-inclusion-graph optional no-optional rename= default-features no-verify",
        "build b check c test t run r bench clippy fmt doc d tree metadata clean update fix new init nextest version help locate-project pkgid fetch install expand miri deny machete audit outdated llvm-cov \
         tarpaulin udeps hack semver-checks public-api bloat asm geiger criterion insta search info report verify-project read-manifest \
         generate-lockfile vet about spellcheck sort msrv add remove rm publish package",
    ),
    verbs(
        "npm pnpm yarn bun",
        Style::Usual,
        "sgvDhr no-git-tag-version silent prefer-offline no-audit no-fund production omit= include= ignore-scripts frozen-lockfile immutable \
         legacy-peer-deps json depth= all long version help if-present workspaces workspace= w= loglevel= no-progress ci verbose watch? coverage reporter= recursive filter= F= prefix=x C=x dir=x cwd=x \
         offline dry-run audit-level= package-lock-only bail? port= t= timeout= update-snapshots parallel production? no-optional \
         omit= only= format? pattern= global",
        "install i ci test t run run-script start build ls list outdated audit view why explain pack prune dedupe version help lint dev format typecheck check \
         config cache pkg root prefix bin uninstall remove rm un exec workspace",
    ),
    verbs(
        "pip pip3",
        Style::Usual,
        "qvhUe r=r c=r requirement=r constraint=r upgrade quiet verbose editable user outdated format= no-deps no-cache-dir \
         disable-pip-version-check version no-build-isolation break-system-packages files not-required exclude= local all path= \
         exclude-editable uptodate no-input",
        "install list show freeze check config cache index debug inspect help",
    ),
    verbs(
        "go",
        Style::Words,
        "- v race x n a s short json cover count= run= bench= benchmem timeout= tags= mod= parallel= p= cpu= coverprofile=w covermode= \
         coverpkg= failfast o=w trimpath u m w l d e compat= go= diff all c i src cmd vettool=x short shuffle= count= fuzz= fuzztime= memprofile=w cpuprofile=w \
         blockprofile=w trace=w outputdir=w list= skip= fullpath deps find f= versions retracted asmflags= msan C=x modfile=x gcflags=",
        "build test run vet fmt mod list version env doc clean generate work tool help",
    ),
    usual(
        "make gmake",
        Build,
        "ksBnqidwth j? f=r C=t l? O? jobs? file=r makefile=r directory=t keep-going silent dry-run always-make no-print-directory output-sync? question quiet",
    ),
    // What reaches the network.
    usual(
        "curl",
        Hosts,
        "sSfLiIkvgGN46RZ0123jaO# d=@ F=@ T=r H=@ X= u= A= e= b=@ c=w m= w=@ o=w D=w r= y= Y= z= C= x=d E=r t= \
         data=@ data-raw= data-binary=@ data-ascii=@ data-urlencode=@ form=@ form-string= json=@ upload-file=r header=@ request= user= \
         user-agent= referer= cookie=@ cookie-jar=w max-time= write-out=@ output=w dump-header=w range= continue-at= proxy=d url=d \
         cacert=r cert=r key=r retry= retry-delay= retry-max-time= retry-all-errors retry-connrefused connect-timeout= limit-rate= \
         max-redirs= max-filesize= silent show-error fail fail-with-body location include head insecure verbose globoff get no-buffer \
         ipv4 ipv6 remote-name remote-time compressed http1.1 http2 http1.0 http3 tlsv1.2 tlsv1.3 no-progress-meter progress-bar \
         create-dirs next parallel trace=w trace-ascii=w trace-time socks5=d socks5-hostname=d preproxy=d url-query=@ version",
    ),
    usual(
        "wget",
        Hosts,
        "qvcSNdVh -nv -nc -nd -np O=w o=w a=w P=w T= t= U= w= output-document=w output-file=w append-output=w directory-prefix=w header= \
         post-data= post-file=r body-data= body-file=r method= user-agent= timeout= tries= quiet no-verbose continue show-progress \
         no-check-certificate spider server-response progress= timestamping no-clobber user= password= version help retry-connrefused \
         waitretry= wait= content-on-error max-redirect= https-only",
    ),
    usual("ping ping6", Hosts, "46nqvaAbR c= i= t= W= w= s="),
    usual("host nslookup", Hosts, "av46d t= type="),
    usual("dig", Hosts, "46 t= p= x="),
    usual("traceroute tracepath mtr", Hosts, "46nrcwI m= q= c= report"),
    usual("telnet nc ncat netcat", Hosts, "46vznuwlkN w= p="),
    leading("ssh", Remote, "46ACKkNnqTtVvXxY p= l= i=r"),
    usual("scp sftp", Remote, "346BCpqrv P= i=r l="),
    usual(
        "rsync",
        Remote,
        "avzrlptgoDhnqucxHAXPiW archive verbose compress recursive delete exclude= include= progress dry-run stats info= checksum partial human-readable update",
    ),
    // What is read by code of its own.
    usual(
        "git find gfind sed gsed awk gawk mawk nawk tar bsdtar gtar dd test [ [[ (( cd pushd export declare typeset readonly local unset read set printf \
         eval source . sh bash zsh dash ksh ash env sudo doas xargs gxargs nohup setsid builtin exec caffeinate unbuffer busybox \
         toybox command nice ionice stdbuf timeout gtimeout time noglob nocorrect npx bunx pnpx type hostname bouncer",
        Own,
        "-",
    ),
];

/// The row of a program.
pub fn program(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| {
        program
            .names
            .split_ascii_whitespace()
            .any(|known| known == name)
    })
}

/// Programs that run commands of their own, or change what later ones mean. What they do
/// is unread whatever a policy says.
const RUNNERS: &str = "parallel watch script flock su runuser trap alias expect entr at batch jobs arch crontab chroot unshare nsenter \
     osascript tclsh wish emacs ed ex vi vim nvim gdb lldb strace ltrace systemd-run mapfile readarray compgen complete hash \
     enable bind fish csh tcsh pwsh powershell nu xonsh elvish deno taskset chrt numactl prlimit setarch ld.so coproc \
     zmodload autoload zle sched disable shopt let ssh-agent dbus-run-session xvfb-run firejail start-stop-daemon \
     run-parts screen tmux vlock fakeroot proot pkexec gosu su-exec chpst setpriv rlwrap socat";

/// Whether a program is one of those.
pub fn runs_commands(name: &str) -> bool {
    let bare = name.rsplit('/').next().unwrap_or_default();
    RUNNERS.split_ascii_whitespace().any(|known| known == bare)
        || bare.starts_with("ld-linux")
        || bare.starts_with("ld-musl")
}

/// Programs that reach the network and are not in the table, with what they reach if they
/// name nothing.
pub const NETWORK: &[(&str, &str)] = &[
    ("aws s3cmd", "amazonaws.com"),
    ("az", "azure.com"),
    ("gcloud gsutil", "googleapis.com"),
    ("glab", "gitlab.com"),
    (
        "aria2c curlie doggo drill ftp grpcurl http https httpie lftp links lynx mail mailx mosquitto_pub msmtp mutt rclone \
         sendmail socat swaks tftp traceroute w3m websocat wscat xh getent whois resolvectl psql mysql redis-cli mongosh",
        "",
    ),
];

/// Directories whose programs are those that their names say.
pub const SYSTEM: [&str; 8] = [
    "/bin/",
    "/usr/bin/",
    "/sbin/",
    "/usr/sbin/",
    "/usr/local/bin/",
    "/opt/homebrew/bin/",
    "/opt/homebrew/sbin/",
    "/usr/local/sbin/",
];
