//! Writes a page and everything behind its figures.

use crate::figure::Figure;
use crate::page::Page;
use crate::{Error, Result, check, draw};
use icee_base::files::{FileError, write_atomically};
use std::path::{Path, PathBuf};

/// Writes `index.html`, and under `figures/` each figure as SVG, PNG (light and dark) and CSV. Gives the page's path.
///
/// # Errors
/// Where something cannot be drawn or written.
pub fn write(page: &Page, folder: &Path) -> Result<PathBuf> {
    let figures = folder.join("figures");
    std::fs::create_dir_all(&figures).map_err(FileError::io(&figures))?;
    for figure in page.figures() {
        write_figure(figure, &figures)?;
    }
    write_page(page, &folder.join("index.html"))
}

/// Writes a page that needs nothing but itself.
///
/// # Errors
/// Where it cannot be written.
pub fn write_page(page: &Page, path: &Path) -> Result<PathBuf> {
    let html = page.to_html().map_err(|e| Error::output("the page", e))?;
    check::self_contained(&html).map_err(|problem| Error::output("the page", problem))?;
    write_atomically(path, html.as_bytes())?;
    Ok(path.to_owned())
}

fn write_figure(figure: &Figure, folder: &Path) -> Result<()> {
    let path = |end: &str| folder.join(format!("{}{end}", figure.id));
    let csv = figure.to_csv().map_err(|e| Error::output(&figure.id, e))?;
    write_atomically(&path(".csv"), csv.as_bytes())?;
    write_atomically(&path(".svg"), draw::svg_file(figure).as_bytes())?;
    for (end, dark) in [(".png", false), ("-dark.png", true)] {
        let png = draw::png(figure, dark).map_err(|e| Error::output(&figure.id, e))?;
        write_atomically(&path(end), &png)?;
    }
    Ok(())
}
