//! The table of all verbs: what each asks, what it answers, who may use it, and where it is on a server.

use crate::{Problem, reply, request};
use schemars::{Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The methods of HTTP that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Look.
    Get,
    /// Do.
    Post,
    /// Delete.
    Delete,
}

impl Method {
    /// As requests have it.
    pub fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Delete => "DELETE",
        }
    }
}

/// What a token may do: each role may do all that those before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Look.
    Read,
    /// Ask and record.
    Write,
    /// Delete.
    Admin,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 3] = [Role::Read, Role::Write, Role::Admin];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Write => "write",
            Role::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = Problem;

    fn from_str(name: &str) -> Result<Role, Problem> {
        let known = || Role::ALL.map(|role| role.name().to_owned()).to_vec();
        let unknown =
            || Problem::Unknown { what: "role".into(), name: name.to_owned(), nearest: vec![], known: known() };
        Role::ALL.into_iter().find(|role| role.name() == name).ok_or_else(unknown)
    }
}

/// A request that knows its reply.
pub trait Call: Into<Request> {
    /// Its reply.
    type Reply;

    /// Its reply among all replies.
    fn reply(reply: Reply) -> Option<Self::Reply>;
}

macro_rules! verbs {
    ($($verb:ident $(($name:literal))? $reply:ident $method:ident $role:ident $path:literal;)+) => {
        /// A request to a study, or to the place where studies are.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Request {
            $(#[doc = concat!("See [`", stringify!($verb), "`](crate::", stringify!($verb), ").")] $verb(request::$verb),)+
        }

        /// The reply to a request: a variant for each verb.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Reply {
            $(#[doc = concat!("To [`Request::", stringify!($verb), "`].")] $verb(reply::$reply),)+
        }

        /// The verbs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Verb {
            $(#[doc = concat!("See [`Request::", stringify!($verb), "`].")] $verb,)+
        }

        $(impl From<request::$verb> for Request {
            fn from(request: request::$verb) -> Request {
                Request::$verb(request)
            }
        }

        impl Call for request::$verb {
            type Reply = reply::$reply;

            fn reply(reply: Reply) -> Option<reply::$reply> {
                if let Reply::$verb(reply) = reply { Some(reply) } else { None }
            }
        })+

        impl Request {
            /// Which verb it is.
            pub fn verb(&self) -> Verb {
                match self { $(Request::$verb(_) => Verb::$verb,)+ }
            }
        }

        impl Verb {
            /// All of them.
            pub const ALL: &[Verb] = &[$(Verb::$verb,)+];

            /// The method and the path on a server, with `{name}` for the study's name.
            pub fn route(self) -> (Method, &'static str) {
                match self { $(Verb::$verb => (Method::$method, $path),)+ }
            }

            /// Who may.
            pub fn role(self) -> Role {
                match self { $(Verb::$verb => Role::$role,)+ }
            }

            /// A request of this verb, from what it says: JSON.
            ///
            /// # Errors
            /// Where that is something else.
            pub fn request(self, json: serde_json::Value) -> serde_json::Result<Request> {
                Ok(match self { $(Verb::$verb => Request::$verb(serde_json::from_value(json)?),)+ })
            }

            /// A reply to this verb, from its JSON.
            ///
            /// # Errors
            /// Where that is something else.
            pub fn reply(self, json: &str) -> serde_json::Result<crate::Noted<Reply>> {
                Ok(match self {
                    $(Verb::$verb => serde_json::from_str::<crate::Noted<reply::$reply>>(json)?.map(Reply::$verb),)+
                })
            }

            /// The schemas of its request and its reply.
            pub fn schemas(self, generator: &mut SchemaGenerator) -> (Schema, Schema) {
                match self {
                    $(Verb::$verb => (
                        generator.subschema_for::<request::$verb>(),
                        generator.subschema_for::<crate::Noted<reply::$reply>>(),
                    ),)+
                }
            }
        }
    };
}

verbs! {
    List Studies Get Read "/api/studies";
    Create Summary Post Write "/api/studies";
    Import Summary Post Write "/api/import";
    Survey Surveyed Post Write "/api/survey";
    Show Summary Get Read "/api/studies/{name}";
    Delete Gone Delete Admin "/api/studies/{name}";
    Ask Answer Post Write "/api/studies/{name}/ask";
    Tell Told Post Write "/api/studies/{name}/tell";
    Renew Renewed Post Write "/api/studies/{name}/renew";
    Update Updated Post Write "/api/studies/{name}/update";
    Withdraw Withdrawn Post Write "/api/studies/{name}/withdraw";
    Forget Forgotten Post Write "/api/studies/{name}/forget";
    Undo Undone Post Write "/api/studies/{name}/undo";
    Goals GoalsSet Post Write "/api/studies/{name}/goals";
    Best BestRows Get Read "/api/studies/{name}/best";
    Predict Predicted Get Read "/api/studies/{name}/predict";
    Why Explained Get Read "/api/studies/{name}/why";
    Effects ColumnEffects Get Read "/api/studies/{name}/effects";
    Running InProgress Get Read "/api/studies/{name}/running";
    Review Reviewed Get Read "/api/studies/{name}/review";
    Glance Page Get Read "/api/studies/{name}/glance";
    Report Page Get Read "/api/studies/{name}/report";
    Export Exported Get Read "/api/studies/{name}/export";
    ReadCells AllCells Get Read "/api/studies/{name}/cells";
    Journal Bundle Get Read "/api/studies/{name}/journal";
}

impl Verb {
    /// Whether it is about a study that is there.
    pub fn is_of_study(self) -> bool {
        self.route().1.contains("{name}")
    }

    /// Whether it may change a study: then it is done once, however often it is sent with one key.
    pub fn changes(self) -> bool {
        self.role() != Role::Read && self != Verb::Survey
    }

    /// The type of its reply on a server where that is a document, not JSON; its notes lie in a header then.
    pub fn document(self) -> Option<&'static str> {
        match self {
            Verb::Glance | Verb::Report => Some("text/html; charset=utf-8"),
            Verb::Export => Some("text/csv; charset=utf-8"),
            _ => None,
        }
    }

    /// Its name in messages and code: that of its last step in a path.
    pub fn name(self) -> &'static str {
        match self {
            Verb::List => "list",
            Verb::Create => "create",
            Verb::Show => "show",
            Verb::Delete => "delete",
            _ => self.route().1.rsplit('/').next().unwrap_or_default(),
        }
    }
}

impl Reply {
    /// The document that it is, if it is one.
    pub fn document(&self) -> Option<&str> {
        match self {
            Reply::Glance(page) | Reply::Report(page) => Some(&page.html),
            Reply::Export(exported) => Some(&exported.csv),
            _ => None,
        }
    }

    /// The reply to a verb whose replies are documents.
    pub fn of_document(verb: Verb, text: String) -> Option<Reply> {
        match verb {
            Verb::Glance => Some(Reply::Glance(reply::Page { html: text })),
            Verb::Report => Some(Reply::Report(reply::Page { html: text })),
            Verb::Export => Some(Reply::Export(reply::Exported { csv: text })),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_verb_has_a_place_and_a_name_of_its_own() {
        let routes: HashSet<(&str, &str)> =
            Verb::ALL.iter().map(|verb| (verb.route().0.name(), verb.route().1)).collect();
        let names: HashSet<&str> = Verb::ALL.iter().map(|verb| verb.name()).collect();
        assert_eq!((routes.len(), names.len()), (Verb::ALL.len(), Verb::ALL.len()));
        for verb in Verb::ALL {
            let (method, _) = verb.route();
            assert_eq!(method == Method::Get, verb.role() == Role::Read, "{verb:?}");
        }
    }

    #[test]
    fn roles_have_an_order_and_names() {
        assert!(Role::Read < Role::Write && Role::Write < Role::Admin);
        assert_eq!("write".parse::<Role>().unwrap(), Role::Write);
        assert!("writer".parse::<Role>().unwrap_err().to_string().contains("read, write, admin"));
    }

    #[test]
    fn a_request_says_nothing_that_is_not_known() {
        let ask = |json: serde_json::Value| Verb::Ask.request(json);
        let known = ask(serde_json::json!({ "count": 2, "where": "a < 3" })).unwrap();
        assert_eq!(known.verb(), Verb::Ask);
        assert!(ask(serde_json::json!({ "counts": 2 })).unwrap_err().to_string().contains("counts"));
    }

    #[test]
    fn every_verb_has_schemas_with_words() {
        let mut generator = SchemaGenerator::default();
        for verb in Verb::ALL {
            verb.schemas(&mut generator);
        }
        for (name, schema) in generator.definitions() {
            let described = schema.get("description").is_some() || name == "AsJson";
            assert!(described, "{name} has no words: {schema}");
        }
    }
}
