//! `cargo run -p bouncer-structure`: prints what the sources look like.

use bouncer_structure::{Graph, Tree, circles, circles_of_folders, packages};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let folder = Path::new(&folder);
    let mut tree = Tree::of_packages(folder, &packages(folder)?)?;
    let graph = Graph::of(&mut tree);
    for lost in &graph.lost {
        println!("lost: {lost}");
    }
    for circle in circles(&tree, &graph.named) {
        println!("{circle}");
    }
    println!("Of folders:\n");
    for circle in circles_of_folders(&tree, &graph.named) {
        println!("{circle}");
    }
    println!("With the methods that types call of themselves:\n");
    for circle in circles(&tree, &graph.called) {
        println!("{circle}");
    }
    Ok(())
}
