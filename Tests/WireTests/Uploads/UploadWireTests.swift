import HoldfastJSON
import Testing

@testable import HoldfastUploads

/// Tests of encoding and decoding the header fields of resumable uploads.
@Suite struct UploadWireTests {
  private static func lines(_ fields: [UploadField]) -> [String] {
    fields.map { "\($0.name): \($0.value)" }
  }

  private static func reading(_ lines: [String]) -> (String) -> String? {
    { name in
      lines.first { $0.lowercased().hasPrefix(name.lowercased() + ":") }.map {
        String($0.drop { $0 != ":" }.dropFirst(2))
      }
    }
  }

  private static let golden: [(UploadFields, [String])] = [
    (
      UploadFields(.current, length: 70_000, isComplete: false),
      ["Upload-Draft-Interop-Version: 8", "Upload-Length: 70000", "Upload-Complete: ?0"]
    ),
    (
      UploadFields(.current, offset: 25, isComplete: true),
      ["Upload-Draft-Interop-Version: 8", "Upload-Offset: 25", "Upload-Complete: ?1"]
    ),
    (
      UploadFields(.iOS, offset: 25, isComplete: true),
      ["Upload-Draft-Interop-Version: 3", "Upload-Offset: 25", "Upload-Incomplete: ?0"]
    ),
    (
      UploadFields(.iOS, length: 9, isComplete: false),
      ["Upload-Draft-Interop-Version: 3", "Upload-Length: 9", "Upload-Incomplete: ?1"]
    ),
    (
      UploadFields(.tus, offset: 0, length: 9),
      ["Tus-Resumable: 1.0.0", "Upload-Offset: 0", "Upload-Length: 9"]
    ),
  ]

  @Test func `each protocol has its own fields, in both directions`() {
    for (fields, lines) in Self.golden {
      #expect(Self.lines(fields.fields) == lines)
      #expect(UploadFields(request: Self.reading(lines)) == fields)
    }
  }

  @Test(arguments: ["2", "9", "", "x", "8.0", "-8"])
  func `unsupported versions are ignored`(version: String) {
    let lines = ["Upload-Draft-Interop-Version: \(version)", "Upload-Complete: ?1"]
    #expect(UploadFields(request: Self.reading(lines)) == nil)
  }

  @Test func `versions from 3 to 8 are supported`() {
    for version in 3...8 {
      let dialect = UploadDialect { $0 == "Upload-Draft-Interop-Version" ? " \(version) " : nil }
      #expect(dialect == .draft(version))
      #expect(dialect?.demandsMediaType == (version >= 6))
    }
    let old = UploadDialect { $0 == "Tus-Resumable" ? "0.2.2" : nil }
    #expect(old == nil)
  }

  @Test func `invalid values are ignored`() {
    for text in ["", "-1", "1.5", "1e3", "1000000000000000", "?1", "1 2"] {
      let fields = UploadFields(.current) { $0 == "Upload-Offset" ? text : nil }
      #expect(fields == UploadFields(.current), "\(text)")
    }
    let most = UploadFields(.current) { $0 == "Upload-Offset" ? "999999999999999;a=1" : nil }
    #expect(most.offset == 999_999_999_999_999)
    for text in ["", "1", "true", "?2", "?1?0"] {
      let fields = UploadFields(.current) { $0 == "Upload-Complete" ? text : nil }
      #expect(fields.isComplete == nil, "\(text)")
    }
  }

  @Test func `an offer is read from the answer to OPTIONS, and the draft precedes tus`() {
    let own = UploadOffer.options(maxSize: 4_096)
    #expect(
      Self.lines(own) == [
        "Accept-Patch: application/partial-upload", "Upload-Draft-Interop-Version: 8",
        "Upload-Limit: max-size=4096", "Tus-Resumable: 1.0.0", "Tus-Version: 1.0.0",
        "Tus-Extension: creation,termination", "Tus-Max-Size: 4096",
      ])
    #expect(
      UploadOffer(options: Self.reading(Self.lines(own))) == UploadOffer(.current, maxSize: 4_096))
    let cases: [([String], UploadOffer?)] = [
      (["Tus-Version: 1.0.0,0.2.2", "Tus-Extension: expiration, creation"], UploadOffer(.tus)),
      (["Tus-Version: 1.0.0", "Tus-Extension: expiration"], nil),
      (["Tus-Version: 0.2.2", "Tus-Extension: creation"], nil),
      (["Accept-Patch: application/json"], nil), ([], nil),
      (
        [
          "Accept-Patch: text/plain, application/partial-upload;q=1",
          "Upload-Limit: max-append-size=100, max-size=x, min-size=1",
        ], UploadOffer(.current, maxAppend: 100)
      ),
      (
        ["Upload-Draft-Interop-Version: 3", "Upload-Limit: max-size=7;a=b"],
        UploadOffer(.iOS, maxSize: 7)
      ),
      (["Upload-Draft-Interop-Version: 3"], UploadOffer(.iOS)),
      (
        [
          "Upload-Draft-Interop-Version: 12", "Tus-Version: 1.0.0", "Tus-Extension: creation",
          "Tus-Max-Size: 7",
        ], UploadOffer(.tus, maxSize: 7)
      ),
    ]
    for (lines, offer) in cases {
      #expect(UploadOffer(options: Self.reading(lines)) == offer, "\(lines)")
    }
    #expect(UploadOffer.limit(maxSize: 9, seconds: 60).value == "max-size=9, max-age=60")
  }

  @Test func `a location is accepted on the same server only`() {
    let server = "https://a.example:81/x/api/sync"
    let cases: [(String, String?)] = [
      ("/up?id=1", "https://a.example:81/up?id=1"),
      ("https://a.example:81/up/1", "https://a.example:81/up/1"),
      ("https://a.example:811/up", nil), ("https://a.example:81", nil),
      ("http://a.example:81/up", nil), ("//b.example/up", nil), ("up", nil), ("", nil),
      ("/a b", nil), ("/a\\b", nil), ("/\u{e4}", nil),
      (
        "/" + String(repeating: "a", count: 2_047),
        "https://a.example:81/"
          + String(repeating: "a", count: 2_047)
      ),
      ("/" + String(repeating: "a", count: 2_048), nil),
    ]
    for (location, url) in cases {
      let reply = UploadReply(201, .current, of: server) { $0 == "Location" ? location : nil }
      #expect(reply.url == url, "\(location.prefix(40))")
    }
  }

  @Test func `a relative location needs a valid server address`() {
    for server in ["", "https:", "https:/", "https:/a/b", "a//b/c", "https:x//b"] {
      let reply = UploadReply(201, .current, of: server) { $0 == "Location" ? "/up" : nil }
      #expect(reply.url == nil, "\(server)")
    }
    for server in ["https://a.example", "https://a.example/"] {
      let reply = UploadReply(201, .current, of: server) { $0 == "Location" ? "/up" : nil }
      #expect(reply.url == "https://a.example/up", "\(server)")
    }
  }

  @Test func `each protocol has its media type`() {
    #expect(UploadDialect.current == .draft(8))
    #expect(UploadDialect.iOS == .draft(3))
    #expect(UploadDialect.current.mediaType == "application/partial-upload")
    #expect(UploadDialect.tus.mediaType == "application/offset+octet-stream")
    #expect(UploadDialect.tus.demandsMediaType)
  }

  @Test func `spaces and tabs around an item are ignored`() {
    for text in [" 7", "7\t", "\t 7 \t", "7 ;a=1"] {
      #expect(UploadFields(.current) { $0 == "Upload-Offset" ? text : nil }.offset == 7, "\(text)")
    }
    #expect(UploadFields(.current) { $0 == "Upload-Offset" ? "7/" : nil }.offset == nil)
    #expect(UploadFields(.current) { $0 == "Upload-Offset" ? "7:" : nil }.offset == nil)
    let versions = "\t1.0.0 ,\t0.2.2"
    let offer = UploadOffer { name in
      ["Tus-Version": versions, "Tus-Extension": "Creation"][name]
    }
    #expect(offer == UploadOffer(.tus))
  }
}
