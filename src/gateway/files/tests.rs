#![allow(clippy::unwrap_used)]
use super::*;

fn config() -> Config {
    Config::parse(r#"{"sharedSecret":"0123456789abcdef","path":"/x","maxFileBytes":10}"#)
        .unwrap()
        .0
}

fn check(length: Option<&str>, name: &str, media: Option<&str>) -> Result<UploadHead, Code> {
    let names = [name.to_owned()];
    let head = Head {
        content_length: length,
        content_type: media,
        file_name: &names,
        ..Head::default()
    };
    UploadHead::check(&config(), "t".into(), &head).map_err(|error| error.code)
}

#[test]
fn a_head_announces_length_name_and_type() {
    let head = check(
        Some("10"),
        "Bericht%20%C3%BC.pdf",
        Some("Application/PDF; a=b"),
    )
    .unwrap();
    assert_eq!(head.name, "Bericht ü.pdf");
    assert_eq!(head.media_type, "application/pdf");
    assert_eq!(head.length, 10);
    let plain = check(Some("0"), ".env", None).unwrap();
    assert_eq!(plain.media_type, "application/octet-stream");
}

#[test]
fn each_rule_of_a_head_has_its_code() {
    let length = |length| check(length, "x", None).unwrap_err();
    assert_eq!(length(None), Code::LengthRequired);
    for bad in ["", "-1", "+1", "1e3", "0x1", " 1"] {
        assert_eq!(length(Some(bad)), Code::InvalidContentLength, "{bad}");
    }
    assert_eq!(length(Some("11")), Code::FileTooLarge);
    assert_eq!(length(Some("99999999999999999999999")), Code::FileTooLarge);
    let name = |name: &str| check(Some("1"), name, None).unwrap_err();
    for bad in [
        "",
        "%20",
        ".",
        "..",
        "a/b",
        "a%2Fb",
        "a%5Cb",
        "a%00",
        "%7F",
        "%",
        "%2",
        "%zz",
        "%ff",
        "ü",
        &"x".repeat(256),
    ] {
        assert_eq!(name(bad), Code::InvalidFileName, "{bad}");
    }
    for bad in [
        "",
        "text",
        "text/",
        "/plain",
        "a b/c",
        &format!("text/{}", "x".repeat(130)),
    ] {
        let refused = check(Some("1"), "x", Some(bad)).unwrap_err();
        assert_eq!(refused, Code::UnsupportedMediaType, "{bad}");
    }
    let head = Head {
        content_length: Some("1"),
        ..Head::default()
    };
    let none = UploadHead::check(&config(), "t".into(), &head).unwrap_err();
    assert_eq!(none.code, Code::InvalidFileName);
}

#[test]
fn a_file_goes_where_the_host_can_hold_it() {
    let kind = |media: &str, length: &str, max_image_bytes, files| {
        check(Some(length), "x", Some(media))
            .unwrap()
            .kind(Stores {
                max_image_bytes,
                files,
            })
            .map_err(|error| error.code)
    };
    let (present, missing) = (FileStore::Present, FileStore::Missing);
    for image in IMAGES {
        assert_eq!(kind(image, "5", Some(5), missing), Ok(FileKind::Image));
    }
    assert_eq!(kind("image/png", "6", Some(5), present), Ok(FileKind::File));
    assert_eq!(
        kind("image/png", "6", Some(5), missing),
        Err(Code::FileTooLarge)
    );
    assert_eq!(kind("image/png", "1", None, present), Ok(FileKind::File));
    assert_eq!(
        kind("image/png", "1", None, missing),
        Err(Code::HostServiceMissing)
    );
    assert_eq!(
        kind("image/svg+xml", "1", Some(5), present),
        Ok(FileKind::File)
    );
    assert_eq!(
        kind("text/plain", "1", Some(5), missing),
        Err(Code::HostServiceMissing)
    );
}

#[test]
fn an_answer_is_a_part_whose_url_grants_the_file_to_its_owner() {
    let config = config();
    let principal = Principal {
        tenant: "t".into(),
        user: "u".into(),
    };
    let head = check(Some("3"), "a%20b.png", Some("image/png")).unwrap();
    let stored = StoredFile {
        kind: FileKind::Image,
        reference: RawValue::from_string(r#"{"attachmentId":"sha256:ab"}"#.into()).unwrap(),
        receipt: None,
        sha256: "ab".into(),
    };
    let answer = head.answer(&config, principal.clone(), stored);
    let part: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(part["type"], "image");
    assert_eq!(part["source"]["type"], "url");
    assert_eq!(part["source"]["mimeType"], "image/png");
    assert_eq!(
        part["metadata"],
        serde_json::json!({"filename":"a b.png","size":3,"sha256":"ab"})
    );
    let url = part["source"]["value"].as_str().unwrap();
    let (path, query) = url.split_once('?').unwrap();
    assert_eq!(path, "/x/threads/t/files/ab");
    let grant = FileGrant::check(&config, &principal, "t".into(), "ab", query).unwrap();
    assert_eq!(
        grant,
        FileGrant {
            kind: FileKind::Image,
            reference: r#"{"attachmentId":"sha256:ab"}"#.into(),
            size: 3,
            media_type: "image/png".into(),
            disposition: "attachment; filename=\"a b.png\"; filename*=UTF-8''a%20b.png".into(),
        }
    );
    let refused = FileGrant::check(&config, &principal, "s".into(), "ab", query).unwrap_err();
    assert_eq!(refused.code, Code::FileForbidden);
}

#[test]
fn dispositions_name_the_file_twice() {
    assert_eq!(
        disposition(".env"),
        "attachment; filename=\".env\"; filename*=UTF-8''.env"
    );
    assert_eq!(
        disposition("a\"b%\\ü\r\n'.txt"),
        "attachment; filename=\"a_b___'.txt\"; filename*=UTF-8''a%22b%25%5C%C3%BC%27.txt"
    );
    assert_eq!(
        disposition("\u{1}"),
        "attachment; filename=\"download\"; filename*=UTF-8''download"
    );
}

#[test]
fn parts_are_of_their_media() {
    let kinds = ["image/png", "audio/ogg", "video/mp4", "text/plain"].map(part_kind);
    assert_eq!(kinds, ["image", "audio", "video", "document"]);
}
