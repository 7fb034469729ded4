//! Vectors: what is accepted, and the exact sentence for what is not.
#![allow(clippy::unwrap_used)]

use super::result::{Answer, Outcome, validate};
use super::*;
use crate::presentation::secret::Secret;

const CONTEXT: &str = r#""requestId":"r","invocationId":"i","origin":"plugin""#;

fn verdict(kind: Kind, members: &str) -> String {
    let text = format!("{{{CONTEXT},{members}}}");
    match request_text(kind, &text) {
        Ok(_) => "ok".into(),
        Err(error) => {
            assert_eq!(error.code, Code::InvalidRequest);
            error.message
        }
    }
}

fn check(kind: Kind, vectors: &[(&str, &str)]) {
    for (members, expected) in vectors {
        assert_eq!(verdict(kind, members), *expected, "{members}");
    }
}

#[test]
fn open_external_takes_absolute_http_uris_only() {
    check(
        Kind::OpenExternal,
        &[
            (r#""uri":"https://example.test/login?a=b#c""#, "ok"),
            (r#""uri":"http://[::1]:80/""#, "ok"),
            (r#""uri":"HTTPS://EXAMPLE.test""#, "ok"),
            (
                r#""uri":"javascript:alert(1)""#,
                "OpenExternal request.uri must be an HTTP(S) URI",
            ),
            (
                r#""uri":"file:///etc/passwd""#,
                "OpenExternal request.uri must be an HTTP(S) URI",
            ),
            (
                r#""uri":"%68ttps://example.test""#,
                "OpenExternal request.uri must be an absolute URI",
            ),
            (
                r#""uri":"/login""#,
                "OpenExternal request.uri must be an absolute URI",
            ),
            (
                r#""uri":"https:example.test""#,
                "OpenExternal request.uri must be an absolute URI",
            ),
            (
                r#""uri":"https:///example.test""#,
                "OpenExternal request.uri must be an absolute URI",
            ),
            (
                r#""uri":"java\nscript:alert(1)""#,
                "OpenExternal request.uri must not contain white space, control characters or backslashes",
            ),
            (
                r#""uri":" ""#,
                "OpenExternal request.uri must be a non-empty string",
            ),
            (
                r#""uri":"https://a.test","extra":1"#,
                "OpenExternal request contains unknown field \"extra\"",
            ),
            (
                r#""x":1"#,
                "OpenExternal request contains unknown field \"x\"",
            ),
            (
                r#""deadline":"soon","uri":"https://a.test""#,
                "OpenExternal request.deadline must be an RFC 3339 date-time",
            ),
        ],
    );
    assert_eq!(
        request_text(Kind::OpenExternal, "[]").unwrap_err().message,
        "OpenExternal request must be an object"
    );
    assert_eq!(
        request_text(Kind::OpenExternal, r#"{"uri":"https://a.test"}"#)
            .unwrap_err()
            .message,
        "OpenExternal request.requestId is required"
    );
}

#[test]
fn copy_text_and_notification() {
    check(
        Kind::CopyText,
        &[
            (r#""text":"x","sensitivity":"private""#, "ok"),
            (
                r#""text":"""#,
                "CopyText request.text must be a non-empty string",
            ),
            (
                r#""text":"x","sensitivity":"secret""#,
                "CopyText request.sensitivity must be one of \"public\", \"private\"",
            ),
        ],
    );
    check(
        Kind::Notification,
        &[
            (r#""text":"x","level":"error","deduplicationKey":"k""#, "ok"),
            (
                r#""text":"x","level":"fatal""#,
                "Notification request.level must be one of \"info\", \"warning\", \"error\"",
            ),
            (
                r#""text":"x","deduplicationKey":"""#,
                "Notification request.deduplicationKey must be a non-empty string",
            ),
        ],
    );
}

#[test]
fn questions() {
    let field = |members: &str| format!(r#""kind":"question","fields":[{{{members}}}]"#);
    let vectors = [
        (
            r#""id":"a","kind":"text","label":"A","multiline":true,"minLength":0,"maxLength":9,"required":false"#,
            "ok",
        ),
        (r#""id":"a","kind":"confirm","label":"A""#, "ok"),
        (
            r#""id":"a","kind":"select","label":"A","multiple":true,"options":[{"id":"x","label":"X"},{"id":"y","label":"Y"}]"#,
            "ok",
        ),
        (
            r#""id":"1a","kind":"text","label":"A""#,
            "Question request.fields[0].id must match [A-Za-z][A-Za-z0-9._-]*",
        ),
        (
            r#""id":"a","kind":"password","label":"A""#,
            "Question request.fields[0].kind must be one of \"text\", \"select\", \"confirm\"",
        ),
        (
            r#""id":"a","kind":"text","label":"A","options":[]"#,
            "Question request.fields[0] contains unknown field \"options\"",
        ),
        (
            r#""id":"a","kind":"text","label":"A","validator":"x=>x""#,
            "Question request.fields[0] contains unknown field \"validator\"",
        ),
        (
            r#""id":"a","kind":"select","label":"A""#,
            "Question request.fields[0].options is required",
        ),
        (
            r#""id":"a","kind":"select","label":"A","options":[]"#,
            "Question request.fields[0].options must be a non-empty array",
        ),
        (
            r#""id":"a","kind":"select","label":"A","options":{}"#,
            "Question request.fields[0].options must be a non-empty array",
        ),
        (
            r#""id":"a","kind":"select","label":"A","options":[{"id":"x","label":"X"},{"id":"x","label":"Y"}]"#,
            "Question request.fields[0].options[1].id must not be a duplicate option id",
        ),
        (
            r#""id":"a","kind":"text","label":"A","minLength":5,"maxLength":4"#,
            "Question request.fields[0].minLength must not exceed maxLength",
        ),
        (
            r#""id":"a","kind":"text","label":"A","maxLength":-1"#,
            "Question request.fields[0].maxLength must be a non-negative safe integer",
        ),
        (
            r#""id":"a","kind":"text","label":"A","maxLength":1.5"#,
            "Question request.fields[0].maxLength must be a non-negative safe integer",
        ),
        (
            r#""id":"a","kind":"text","label":"A","maxLength":9007199254740992"#,
            "Question request.fields[0].maxLength must be a non-negative safe integer",
        ),
        (
            r#""id":"a","kind":"text","label":"A","required":"yes""#,
            "Question request.fields[0].required must be a boolean",
        ),
        (
            r#""id":"a","kind":"text","label":" ""#,
            "Question request.fields[0].label must be a non-empty string",
        ),
    ];
    for (members, expected) in vectors {
        assert_eq!(
            verdict(Kind::UserInteraction, &field(members)),
            expected,
            "{members}"
        );
    }
    check(
        Kind::UserInteraction,
        &[
            (
                r#""kind":"question","fields":[]"#,
                "Question request.fields must be a non-empty array",
            ),
            (
                r#""kind":"question""#,
                "Question request.fields is required",
            ),
            (
                r#""kind":"question","fields":[{"id":"a","kind":"confirm","label":"A"},{"id":"b","kind":"confirm","label":"B"},{"id":"a","kind":"confirm","label":"C"}]"#,
                "Question request.fields[2].id must not be a duplicate field id",
            ),
            (
                r#""kind":"form""#,
                "UserInteraction request.kind must be one of \"question\", \"approval\", \"secret-input\"",
            ),
            (
                r#""fields":[]"#,
                "UserInteraction request.kind must be one of \"question\", \"approval\", \"secret-input\"",
            ),
        ],
    );
}

#[test]
fn approvals_and_secrets() {
    check(
        Kind::UserInteraction,
        &[
            (
                r#""kind":"approval","action":"delete","summary":"rm","risk":"high","details":[{"label":"l","value":"v","sensitivity":"private"}]"#,
                "ok",
            ),
            (
                r#""kind":"approval","action":"delete""#,
                "Approval request.summary is required",
            ),
            (
                r#""kind":"approval","action":"a","summary":"s","remember":true"#,
                "Approval request contains unknown field \"remember\"",
            ),
            (
                r#""kind":"approval","action":"a","summary":"s","risk":"none""#,
                "Approval request.risk must be one of \"low\", \"medium\", \"high\"",
            ),
            (
                r#""kind":"approval","action":"a","summary":"s","details":[{"label":"l","value":"v","sensitivity":"x"}]"#,
                "Approval request.details[0].sensitivity must be one of \"public\", \"private\"",
            ),
            (
                r#""kind":"secret-input","label":"Token","minLength":8"#,
                "ok",
            ),
            (
                r#""kind":"secret-input","label":"Token","default":"x""#,
                "SecretInput request contains unknown field \"default\"",
            ),
        ],
    );
}

#[test]
fn redirects() {
    let loopback = "ExternalRedirect request.exactRedirectUri must target a loopback host";
    let port = "ExternalRedirect request.exactRedirectUri must include an explicit TCP port";
    for (uri, expected) in [
        ("http://127.0.0.1:1455/oauth/callback?x=1", "ok"),
        ("http://[::1]:1455/", "ok"),
        ("http://localhost:1455", "ok"),
        ("http://127.0.0.1:80/", "ok"),
        ("http://127.0.0.1/callback", port),
        ("http://127.0.0.1:0/callback", port),
        ("http://127.0.0.1:/callback", port),
        (
            "http://127.0.0.1:65536/callback",
            "ExternalRedirect request.exactRedirectUri must be an absolute URI",
        ),
        ("http://2130706433:1455/", port),
        ("http://127.1:1455/", port),
        ("http://127.0.0.2:1455/", loopback),
        ("http://0.0.0.0:1455/", loopback),
        ("http://example.test:1455/", loopback),
        ("http://localhost.example.test:1455/", loopback),
        (
            "https://127.0.0.1:1455/",
            "ExternalRedirect request.exactRedirectUri must use HTTP",
        ),
        (
            "http://a@127.0.0.1:1455/",
            "ExternalRedirect request.exactRedirectUri must not contain user information",
        ),
        (
            "http://@127.0.0.1:1455/",
            "ExternalRedirect request.exactRedirectUri must not contain user information",
        ),
        (
            "http://127.0.0.1:1455/#f",
            "ExternalRedirect request.exactRedirectUri must not contain a fragment",
        ),
        (
            "http://127.0.0.1:1455/#",
            "ExternalRedirect request.exactRedirectUri must not contain a fragment",
        ),
    ] {
        assert_eq!(
            verdict(
                Kind::ExternalRedirect,
                &format!(r#""mode":"http-get","exactRedirectUri":"{uri}""#)
            ),
            expected,
            "{uri}"
        );
    }
    assert_eq!(
        verdict(Kind::ExternalRedirect, r#""mode":"http-post""#),
        "ExternalRedirect request.mode must be \"http-get\""
    );
    let ready = |text: &str| {
        callback::ready(&Json::parse(text, "v").unwrap())
            .map(str::to_owned)
            .map_err(|error| error.message)
    };
    assert_eq!(
        ready(r#"{"type":"ready","redirectUri":"http://127.0.0.1:5/x"}"#),
        Ok("http://127.0.0.1:5/x".into())
    );
    assert_eq!(
        ready(r#"{"type":"ready","redirectUri":"http://127.0.0.1:5/x","expiresAt":"later"}"#),
        Err("ExternalRedirect ready.expiresAt must be an RFC 3339 date-time".into())
    );
}

fn judge(members: &str, result: &str, secret: Option<&str>) -> Result<Outcome, String> {
    let request = request_text(Kind::UserInteraction, &format!("{{{CONTEXT},{members}}}")).unwrap();
    let json = Json::parse(result, "v").unwrap();
    let secret = secret.map(|text| Secret::new(text.into()));
    let answer = Answer {
        json: &json,
        secret: secret.as_ref(),
    };
    validate(request.operation, &request.answer, answer, Some(20)).map_err(|error| {
        assert_eq!(error.code, Code::InvalidAnswer);
        error.message
    })
}

#[test]
fn answers_match_their_question() {
    let question = r#""kind":"question","fields":[
        {"id":"t","kind":"text","label":"T","required":true,"minLength":2,"maxLength":4},
        {"id":"c","kind":"confirm","label":"C"},
        {"id":"one","kind":"select","label":"O","options":[{"id":"x","label":"X"},{"id":"y","label":"Y"}]},
        {"id":"many","kind":"select","label":"M","multiple":true,"options":[{"id":"x","label":"X"},{"id":"y","label":"Y"}]},
        {"id":"free","kind":"text","label":"F"}]"#;
    let answers = |answers: &str| {
        judge(
            question,
            &format!(r#"{{"status":"submitted","value":{{"answers":{{{answers}}}}}}}"#),
            None,
        )
    };
    let bad = |message: &str| Err(message.to_owned());
    assert_eq!(answers(r#""t":"ab""#), Ok(Outcome::Submitted));
    assert_eq!(
        answers(r#""many":["y","x"],"one":"x","c":false,"t":"🔑🔑""#),
        Ok(Outcome::Submitted)
    );
    assert_eq!(
        answers(r#""t":"🔑🔑a""#),
        bad("Question answers.answers.t is too long")
    );
    assert_eq!(
        answers(r#""t":"a""#),
        bad("Question answers.answers.t is too short")
    );
    assert_eq!(
        answers(r#""c":true"#),
        bad("Question answers.answers.t is required")
    );
    assert_eq!(
        answers(r#""t":"ab","c":"yes""#),
        bad("Question answers.answers.c must be a boolean")
    );
    assert_eq!(
        answers(r#""t":"ab","one":"X""#),
        bad("Question answers.answers.one contains an invalid option")
    );
    assert_eq!(
        answers(r#""t":"ab","one":["x"]"#),
        bad("Question answers.answers.one contains an invalid option")
    );
    assert_eq!(
        answers(r#""t":"ab","many":["x","z"]"#),
        bad("Question answers.answers.many contains an invalid option")
    );
    assert_eq!(
        answers(r#""t":"ab","many":["x","x"]"#),
        bad("Question answers.answers.many contains an option twice")
    );
    assert_eq!(
        answers(r#""t":"ab","many":"x""#),
        bad("Question answers.answers.many must be an array that contains no invalid option")
    );
    assert_eq!(
        answers(r#""t":"ab","other":1"#),
        bad("Question answers.answers contains an answer to an unknown field")
    );
    assert_eq!(
        answers(r#""t":"ab","free":"twenty-one characters""#),
        bad("Question answers.answers.free is longer than the agreement allows")
    );
    assert_eq!(
        judge(question, r#"{"status":"cancelled"}"#, None),
        Ok(Outcome::Cancelled)
    );
    assert_eq!(
        judge(question, r#"{"status":"expired"}"#, None),
        Ok(Outcome::Expired)
    );
    assert_eq!(
        judge(question, r#"{"status":"unavailable"}"#, None),
        Ok(Outcome::Unavailable(None))
    );
    assert_eq!(
        judge(
            question,
            r#"{"status":"unavailable","reason":"no-tty"}"#,
            None
        ),
        Ok(Outcome::Unavailable(Some("no-tty".into())))
    );
    assert_eq!(
        judge(question, r#"{"status":"cancelled","value":1}"#, None),
        bad("Question result contains an unknown field")
    );
    assert_eq!(
        judge(question, r#"{"status":"submitted"}"#, None),
        bad("Question result.value is required")
    );
    assert_eq!(
        judge(question, r#"{"answers":{}}"#, None),
        bad(
            "Question result.status must be one of \"submitted\", \"cancelled\", \"expired\", \"unavailable\""
        )
    );
}

#[test]
fn approvals_are_approved_or_denied_and_nothing_else() {
    let approval = r#""kind":"approval","action":"a","summary":"s""#;
    let decide = |value: &str| {
        judge(
            approval,
            &format!(r#"{{"status":"submitted","value":{value}}}"#),
            None,
        )
    };
    assert_eq!(decide(r#"{"decision":"approved"}"#), Ok(Outcome::Submitted));
    assert_eq!(decide(r#"{"decision":"denied"}"#), Ok(Outcome::Submitted));
    for (value, message) in [
        (
            r#"{"decision":"always"}"#,
            "Approval value.decision must be \"approved\" or \"denied\"",
        ),
        (
            r#"{"decision":"approved","remember":true}"#,
            "Approval value contains an unknown field",
        ),
        ("true", "Approval value must be an object"),
    ] {
        assert_eq!(decide(value), Err(message.into()));
    }
}

#[test]
fn a_secret_is_judged_by_length_and_never_quoted() {
    let request = r#""kind":"secret-input","label":"Token","minLength":4,"maxLength":8"#;
    let submitted = r#"{"status":"submitted","value":{}}"#;
    assert_eq!(
        judge(request, submitted, Some("hunter2")),
        Ok(Outcome::Submitted)
    );
    assert_eq!(
        judge(request, submitted, Some("hun")),
        Err("SecretInput value.secret is too short".into())
    );
    assert_eq!(
        judge(request, submitted, Some("hunter2hunter2")),
        Err("SecretInput value.secret is too long".into())
    );
    assert_eq!(
        judge(request, submitted, None),
        Err("SecretInput value.secret is required".into())
    );
    assert_eq!(
        judge(
            request,
            r#"{"status":"submitted","value":{"secret":1}}"#,
            None
        ),
        Err("SecretInput value.secret must be a string".into())
    );
}

#[test]
fn specs_and_descriptors() {
    let support = |text: &str| {
        spec::support(
            Kind::UserInteraction,
            Some(&Json::parse(text, "v").unwrap()),
        )
        .map_err(|error| error.message)
    };
    assert_eq!(
        support(r#"{"operations":["question"],"limits":{"maxFields":3}}"#)
            .unwrap()
            .limits
            .max_fields,
        Some(3)
    );
    for (text, message) in [
        ("[]", "UserInteraction support spec must be an object"),
        (
            r#"{"operations":[]}"#,
            "UserInteraction support spec.operations must be a non-empty array",
        ),
        (
            r#"{"operations":["form"]}"#,
            "UserInteraction support spec.operations[0] must be one of \"question\", \"approval\", \"secret-input\"",
        ),
        (
            r#"{"operations":["question","question"]}"#,
            "UserInteraction support spec.operations[1] must not be a duplicate operation",
        ),
        (
            r#"{"operations":["question"],"limits":{"maxFields":0}}"#,
            "UserInteraction support spec.limits.maxFields must be a positive safe integer",
        ),
        (
            r#"{"operations":["question"],"limits":{"max":1}}"#,
            "UserInteraction support spec.limits contains unknown field \"max\"",
        ),
    ] {
        assert_eq!(support(text).unwrap_err(), message);
    }
    let requirement = Json::parse(
        r#"{"operations":["question"],"optionalOperations":["question"]}"#,
        "v",
    )
    .unwrap();
    assert_eq!(
        spec::requirement(Kind::UserInteraction, Some(&requirement))
            .unwrap_err()
            .message,
        "UserInteraction requirement spec.optionalOperations must not repeat a required operation"
    );
    let contract = r#"{"apiVersion":"presentation.dsh/v1alpha1","kind":"OpenExternal"}"#;
    let describe = |contracts: &str| {
        let text = format!(r#"{{"clientId":"tui:1","contracts":[{contracts}]}}"#);
        descriptor::validate(&Json::parse(&text, "v").unwrap()).map_err(|error| error.message)
    };
    assert_eq!(describe(contract), Ok(()));
    assert_eq!(
        describe(&format!("{contract},{contract}")),
        Err("Presentation descriptor.contracts[1] is a duplicate contract".into())
    );
    assert_eq!(
        describe(
            r#"{"apiVersion":"presentation.dsh/v1alpha1","kind":"UserInteraction","spec":{}}"#
        ),
        Err("UserInteraction support spec.operations is required".into())
    );
}
