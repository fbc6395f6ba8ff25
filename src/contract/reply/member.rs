//! Descriptions of members, and the schemas of replies.

use std::fmt::Debug;

use serde::Serialize;
use serde_json::Value;

use crate::model::{Column, Kind, Record, Vocabulary};

/// A type of reply with its schema.
pub trait EndpointReply: Serialize + Clone + Debug + PartialEq + Send + Sync + 'static {
    /// Schema of the reply.
    const SHAPE: ReplyShape;
}

impl<R: Record + Serialize + Clone + Debug + PartialEq + Send + Sync + 'static> EndpointReply
    for Vec<R>
{
    const SHAPE: ReplyShape = ReplyShape::Rows(RowShape::of::<R>());
}

/// The schema of a reply.
#[derive(Clone, Copy, Debug)]
pub enum ReplyShape {
    /// A list of objects.
    Rows(RowShape),
    /// One object.
    Object(ObjectShape),
    /// Server-sent events.
    Events(RowShape),
    /// CSV lines, with the columns that the parameters ask for.
    Csv(fn() -> Vec<Member>),
}

impl ReplyShape {
    /// The kind of the reply, as `/api` names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rows(_) => "rows",
            Self::Object(_) => "object",
            Self::Events(_) => "events",
            Self::Csv(_) => "csv",
        }
    }

    /// Returns the columns of a row, or the members of the object.
    #[must_use]
    pub fn members(self) -> Vec<Member> {
        match self {
            Self::Object(object) => (object.members)(),
            Self::Rows(row) | Self::Events(row) => row.members(),
            Self::Csv(columns) => columns(),
        }
    }
}

/// The schema of a row.
#[derive(Clone, Copy, Debug)]
pub struct RowShape {
    /// The columns of the row type.
    pub columns: &'static [Column],
    /// The columns that only some services send.
    pub added: &'static [Column],
}

impl RowShape {
    /// The schema of the row type `R`.
    #[must_use]
    pub const fn of<R: Record>() -> Self {
        Self {
            columns: R::COLUMNS,
            added: R::ADDED,
        }
    }

    fn members(self) -> Vec<Member> {
        let added = self.added.iter().map(|column| Member {
            extension: true,
            ..Member::of(column)
        });
        self.columns.iter().map(Member::of).chain(added).collect()
    }
}

/// The schema of an object.
#[derive(Clone, Copy, Debug)]
pub struct ObjectShape {
    /// The members of the object.
    pub members: fn() -> Vec<Member>,
    /// JSON schema of the object.
    pub schema: fn() -> Value,
}

/// A column of a row, or a member of an object.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Member {
    /// Name in the JSON reply.
    pub name: &'static str,
    /// Name of the field in Rust and in Python.
    #[serde(skip)]
    pub field: &'static str,
    /// Type of the value: the name of a [`Kind`], `list` or `object`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Unit of the value; empty if it has none.
    pub unit: &'static str,
    /// One line of description.
    pub meaning: &'static str,
    /// Whether only some services send the member.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub extension: bool,
    /// Whether the member may be absent.
    #[serde(skip)]
    pub optional: bool,
    /// JSON schema of the value; `None` for the column of a row.
    #[serde(skip)]
    pub schema: Option<fn() -> Value>,
}

impl Member {
    /// The member `name` with its declared properties; its type is not yet known.
    #[must_use]
    pub const fn new(
        (name, field): (&'static str, &'static str),
        unit: &'static str,
        meaning: &'static str,
        extension: bool,
    ) -> Self {
        Self {
            name,
            field,
            kind: "",
            unit,
            meaning,
            extension,
            optional: extension,
            schema: None,
        }
    }

    fn of(column: &Column) -> Self {
        let kind = match column.kind {
            Kind::Side => Kind::Text,
            kind => kind,
        };
        Self {
            kind: kind.name(),
            optional: column.optional,
            ..Self::new(
                (column.name, column.name),
                column.unit,
                column.meaning,
                false,
            )
        }
    }
}
