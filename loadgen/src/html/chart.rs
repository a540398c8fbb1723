//! Charts of lines, as SVG. Pure.

use std::fmt::Write;

use super::scale::Scale;
use super::text::escaped;

pub struct Axis {
    pub label: String,
    pub scale: Scale,
    /// Where marks are, and what they say.
    pub marks: Vec<(f64, String)>,
}

pub struct Line {
    pub name: String,
    /// Chooses its colour.
    pub colour: usize,
    pub kind: Kind,
    /// In order of x; a line breaks where there is no y.
    pub points: Vec<(f64, Option<f64>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Solid,
    Dashed,
    Dotted,
    /// With what lies below it filled.
    Area,
}

pub struct Chart {
    /// Unique on the page.
    pub id: String,
    pub title: String,
    /// For those who do not see it.
    pub description: String,
    pub width: f64,
    pub height: f64,
    pub x: Axis,
    pub y: Axis,
    pub lines: Vec<Line>,
}

/// Colours that there are; beyond, they begin anew with another kind of line.
const COLOURS: usize = 8;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 44.0;

impl Axis {
    /// Marked where its scale suggests.
    pub fn marked(label: &str, scale: Scale, say: impl Fn(f64) -> String) -> Self {
        let marks = scale.ticks().into_iter().map(|value| (value, say(value))).collect();
        Self { label: label.to_owned(), scale, marks }
    }
}

impl Chart {
    /// A figure: the drawing, and below it what its lines are, where there are several.
    #[must_use]
    pub fn figure(&self) -> String {
        let mut out = format!("<figure>\n<figcaption>{}</figcaption>\n", escaped(&self.title));
        out += &self.svg();
        if self.lines.len() > 1 {
            out += "<ul class=\"legend\">\n";
            for line in &self.lines {
                // Writing to a String cannot fail, here and below.
                let _ = writeln!(
                    out,
                    "<li><svg width=\"28\" height=\"10\" aria-hidden=\"true\"><path class=\"{}\" d=\"M2 5H26\"/></svg>{}</li>",
                    class(line),
                    escaped(&line.name)
                );
            }
            out += "</ul>\n";
        }
        out + "</figure>\n"
    }

    fn svg(&self) -> String {
        let (id, title) = (&self.id, escaped(&self.title));
        let mut out = format!(
            "<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\n\
             <title id=\"{id}-t\">{title}</title>\n<desc id=\"{id}-d\">{}</desc>\n",
            self.width,
            self.height,
            escaped(&self.description)
        );
        self.axes(&mut out);
        for line in &self.lines {
            self.line(line, &mut out);
        }
        out + "</svg>\n"
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + self.x.scale.share(value) * (self.width - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        self.height - BOTTOM - self.y.scale.share(value) * (self.height - TOP - BOTTOM)
    }

    fn axes(&self, out: &mut String) {
        let (right, bottom) = (self.width - RIGHT, self.height - BOTTOM);
        for (value, text) in &self.y.marks {
            let y = self.y(*value);
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/><text class=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                LEFT - 8.0,
                y + 4.0,
                escaped(text)
            );
        }
        for (value, text) in &self.x.marks {
            let x = self.x(*value);
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{x:.1} {TOP}V{bottom}\"/><text class=\"middle\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                bottom + 18.0,
                escaped(text)
            );
        }
        let _ = writeln!(out, "<path class=\"axis\" d=\"M{LEFT} {TOP}V{bottom}H{right}\"/>");
        let _ = writeln!(
            out,
            "<text class=\"middle label\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            f64::midpoint(LEFT, right),
            self.height - 6.0,
            escaped(&self.x.label)
        );
    }

    fn line(&self, line: &Line, out: &mut String) {
        let mut path = String::new();
        let (mut first, mut last) = (None, None);
        for (x, y) in &line.points {
            let Some(y) = y else {
                last = None;
                continue;
            };
            let (x, y) = (self.x(*x), self.y(*y));
            // A point alone is a line of no length, which its round ends make a dot.
            let _ = if last.is_some() {
                write!(path, "L{x:.1} {y:.1}")
            } else {
                write!(path, "M{x:.1} {y:.1}h0")
            };
            first = first.or(Some(x));
            last = Some(x);
        }
        if let (Kind::Area, Some(first), Some(last)) = (line.kind, first, last) {
            let bottom = self.height - BOTTOM;
            let below = path.replacen('M', "L", 1);
            let colour = line.colour % COLOURS;
            let _ = writeln!(
                out,
                "<path class=\"area c{colour}\" d=\"M{first:.1} {bottom}{below}L{last:.1} {bottom}Z\"/>"
            );
        }
        let _ = writeln!(out, "<path class=\"{}\" d=\"{path}\"/>", class(line));
    }
}

fn class(line: &Line) -> String {
    let kind = match line.kind {
        _ if line.colour >= COLOURS => " dashed",
        Kind::Solid | Kind::Area => "",
        Kind::Dashed => " dashed",
        Kind::Dotted => " dotted",
    };
    format!("line c{}{kind}", line.colour % COLOURS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_where_there_is_nothing() {
        let axis = || Axis::marked("x", Scale::from_zero(4.0), |value| value.to_string());
        let line = Line {
            name: "<b>".into(),
            colour: 9,
            kind: Kind::Solid,
            points: vec![(0.0, Some(0.0)), (1.0, Some(4.0)), (2.0, None), (4.0, Some(2.0))],
        };
        let other = Line { name: "b".into(), colour: 0, kind: Kind::Area, points: Vec::new() };
        let chart = Chart {
            id: "a".into(),
            title: "A & B".into(),
            description: "d".into(),
            width: 480.0,
            height: 156.0,
            x: axis(),
            y: axis(),
            lines: vec![line, other],
        };
        let figure = chart.figure();
        assert!(figure.contains("d=\"M64.0 112.0h0L164.0 12.0M464.0 62.0h0\""), "{figure}");
        assert!(figure.contains("class=\"line c1 dashed\"") && figure.contains("&lt;b&gt;"), "{figure}");
        assert!(
            figure.contains("<title id=\"a-t\">A &amp; B</title>") && !figure.contains("NaN"),
            "{figure}"
        );
    }
}
