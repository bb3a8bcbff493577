//! `cargo run -p bouncer-structure -- lines [FOLDER]` says how long the sources are;
//! `circles` draws which files know each other in a circle. FOLDER is a workspace, this one
//! if none is given.

use bouncer_structure::{
    Circle, Counts, Error, Graph, Package, Tree, circles, circles_of_folders, count, packages,
};
use std::path::Path;
use std::process::ExitCode;

/// Files that are longer need a reason.
const LONG_FILE: usize = 600;
/// Functions too.
const LONG_FUNCTION: usize = 80;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_default();
    let folder = arguments.next().unwrap_or_else(|| ".".to_owned());
    let folder = Path::new(&folder);
    let said = match what.as_str() {
        "lines" => lines(folder),
        "circles" => draw(folder),
        _ => {
            eprintln!("usage: bouncer-structure lines|circles [FOLDER]");
            return ExitCode::from(2);
        }
    };
    match said {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn draw(folder: &Path) -> Result<(), Error> {
    let mut tree = Tree::of_packages(folder, &packages(folder)?)?;
    let graph = Graph::of(&mut tree);
    let print = |title: &str, circles: &[Circle]| {
        let files: usize = circles.iter().map(|circle| circle.files.len()).sum();
        println!("{title}: {} circles, {files} in them\n", circles.len());
        for circle in circles {
            println!("{circle}");
        }
    };
    print("Files", &circles(&tree, &graph.named));
    print(
        "Files and folders",
        &circles_of_folders(&tree, &graph.named),
    );
    let title = "Files, with the methods that a type calls of itself";
    print(title, &circles(&tree, &graph.called));
    Ok(())
}

fn lines(folder: &Path) -> Result<(), Error> {
    let packages = packages(folder)?;
    let mut all = Vec::new();
    println!(
        "| crate | lines | files | median file | files over {LONG_FILE} | functions over {LONG_FUNCTION} | `Result<_, String>` |"
    );
    println!("|---|---|---|---|---|---|---|");
    // A package that only tests use is not part of the product.
    for package in packages.iter().filter(|it| !it.folder.starts_with("tests")) {
        let counts = counts(folder, package)?;
        row(&package.name, &counts);
        all.extend(counts);
    }
    row("all", &all);
    println!();
    for file in all.iter().filter(|file| file.height > LONG_FILE) {
        println!("{}: {} lines", file.path.display(), file.height);
    }
    for file in &all {
        for function in file.functions.iter().filter(|it| it.lines > LONG_FUNCTION) {
            let (path, name) = (file.path.display(), &function.name);
            println!(
                "{path}:{}: {name} has {} lines",
                function.line, function.lines
            );
        }
    }
    Ok(())
}

fn counts(folder: &Path, package: &Package) -> Result<Vec<Counts>, Error> {
    let tree = Tree::of_packages(folder, std::slice::from_ref(package))?;
    tree.files.iter().map(|file| count(folder, file)).collect()
}

fn row(name: &str, counts: &[Counts]) {
    let mut heights: Vec<usize> = counts.iter().map(|file| file.height).collect();
    heights.sort_unstable();
    let sum = |of: fn(&Counts) -> usize| counts.iter().map(of).sum::<usize>();
    println!(
        "| {name} | {} | {} | {} | {} | {} | {} |",
        sum(|file| file.lines),
        counts.len(),
        heights.get(heights.len() / 2).unwrap_or(&0),
        sum(|file| usize::from(file.height > LONG_FILE)),
        sum(|file| {
            let long = file.functions.iter().filter(|it| it.lines > LONG_FUNCTION);
            long.count()
        }),
        sum(|file| file.errors_as_text),
    );
}
