import Foundation
import HoldfastCore
import HoldfastLinkTrace
import HoldfastProtocols
import HoldfastRigs
import HoldfastTestKit
import Testing

@testable import HoldfastDemo

/// Tests of the lab's requests and events.
@Suite(.timeLimit(.minutes(60))) struct LabTests {
  private static let access = LabAccess(
    secret: "the-secret", port: 4000, links: ["stream", "session"])

  private static func read(
    _ method: String, _ target: String, _ fields: [String: String] = [:], body: String = "",
    host: String? = "127.0.0.1:4000"
  ) throws -> LabRequest {
    var headers = fields.map { HTTPField(name: $0.key, value: $0.value) }
    if let host { headers.append(HTTPField(name: "Host", value: host)) }
    let head = try HTTPRequestHead(method: method, target: target, headers: headers)
    return access.read(head, body: Array(body.utf8))
  }

  private static func status(_ request: LabRequest) -> Int {
    if case .refused(let status, _) = request { status } else { 200 }
  }

  @Test(arguments: ["127.0.0.1:4000", "localhost:4000", "LOCALHOST:4000"])
  func `the page is served to its own hosts`(host: String) throws {
    #expect(try Self.read("GET", "/?lab=x", host: host) == .page)
  }

  @Test(arguments: [nil, "", "127.0.0.1", "127.0.0.1:4001", "evil.example:4000", "[::1]:4000"])
  func `another host is misdirected`(host: String?) throws {
    #expect(Self.status(try Self.read("GET", "/", host: host)) == 421)
  }

  @Test(arguments: [
    ("http://127.0.0.1:4000", 200), ("http://localhost:4000", 200), ("http://127.0.0.1:4001", 403),
    ("https://127.0.0.1:4000", 403), ("https://evil.example", 403), ("null", 403),
  ])
  func `only the page itself may press a button`(origin: String, expected: Int) throws {
    let fields = ["X-Lab": "the-secret", "Origin": origin]
    #expect(Self.status(try Self.read("POST", "/lab/do/cut", fields)) == expected)
  }

  @Test(arguments: [nil, "", "the-secre", "the-secret2"])
  func `a button needs the secret`(secret: String?) throws {
    let fields = secret.map { ["X-Lab": $0] } ?? [:]
    #expect(Self.status(try Self.read("POST", "/lab/do/cut", fields)) == 403)
    let query = secret.map { "?lab=\($0)" } ?? ""
    #expect(Self.status(try Self.read("GET", "/lab/events" + query)) == 403)
  }

  @Test(arguments: LabDeed.allCases)
  func `each button has its paths`(deed: LabDeed) throws {
    let fields = ["X-Lab": "the-secret"]
    let read = { try Self.read("POST", "/lab/do/\(deed.rawValue)" + $0, fields) }
    if deed.lasts {
      #expect(try read("/on") == .act(.deed(deed, isOn: true)))
      #expect(try read("/off") == .act(.deed(deed, isOn: false)))
      #expect(Self.status(try read("")) == 404)
    } else {
      #expect(try read("") == .act(.deed(deed, isOn: true)))
      #expect(Self.status(try read("/on")) == 404)
    }
    #expect(Self.status(try read("/maybe")) == 404)
    #expect(Self.status(try read("/on/on")) == 404)
  }

  @Test func `a text is sent by the chosen link, in one line`() throws {
    let fields = ["X-Lab": "the-secret", "X-Lab-Link": "session"]
    let read = { try Self.read("POST", "/lab/do/say", fields, body: $0) }
    #expect(try read("two\nlines") == .act(.say("twolines", by: "session")))
    let unchosen = try Self.read("POST", "/lab/do/say", ["X-Lab": "the-secret"], body: "a")
    #expect(unchosen == .act(.say("a", by: "stream")))
    for link in ["", "sessio", "stream,session"] {
      let fields = ["X-Lab": "the-secret", "X-Lab-Link": link]
      #expect(Self.status(try Self.read("POST", "/lab/do/say", fields, body: "a")) == 404)
    }
    #expect(Self.status(try read("")) == 400)
    #expect(Self.status(try read("\n")) == 400)
    #expect(Self.status(try read(String(repeating: "x", count: LabAccess.longestText))) == 200)
    #expect(Self.status(try read(String(repeating: "x", count: LabAccess.longestText + 1))) == 400)
  }

  @Test(arguments: [("POST", "/"), ("GET", "/lab/do/cut"), ("GET", "/lab"), ("GET", "/x")])
  func `anything else is not found`(method: String, path: String) throws {
    #expect(Self.status(try Self.read(method, path, ["X-Lab": "the-secret"])) == 404)
  }

  @Test func `events continue after the last number`() throws {
    let fields = ["Last-Event-ID": "7"]
    #expect(try Self.read("GET", "/lab/events?lab=the-secret", fields) == .events(after: 7))
    #expect(try Self.read("GET", "/lab/events?lab=the-secret") == .events(after: 0))
    var record = LabRecord()
    for second in 1...3 {
      _ = record.add(.end(link: "stream", fact: second, at: .seconds(second)))
    }
    let text = { String(decoding: record.after($0), as: UTF8.self) }
    #expect(
      text(2) == """
        id: 3
        event: end
        data: {"link":"stream","fact":3,"until":3}


        """)
    #expect(text(0).components(separatedBy: "id: ").count == 4)
    #expect(text(3) == "")
    #expect(text(99) == "")
    #expect(text(-1) == text(0))
  }

  @Test func `a full record still has room for the ends of its facts`() {
    var record = LabRecord(limit: 1)
    let fact = TraceFact.world(.trouble(name: "cut"), at: .zero, "Cut.")
    #expect(!record.add(.fact(link: "stream", fact)).isEmpty)
    #expect(record.isFull)
    #expect(record.add(.fact(link: "stream", fact)).isEmpty)
    #expect(record.add(.end(link: "stream", fact: 1, at: .seconds(1))).isEmpty)
    #expect(record.add(.end(link: "session", fact: 0, at: .seconds(1))).isEmpty)
    #expect(!record.add(.end(link: "stream", fact: 0, at: .seconds(1))).isEmpty)
    #expect(record.events.count == 2)
  }

  @Test func `a fact is one line of JSON with its link`() {
    let fact = TraceFact.world(.trouble(name: "cut"), at: .seconds(2), "Line one\nline two.")
    let text = String(decoding: LabEvent.fact(link: "stream", fact).bytes, as: UTF8.self)
    #expect(
      text == """
        event: fact
        data: {"link":"stream","fact":{"t":2,"lane":"network","kind":"trouble",\
        "say":"Line one\\nline two.","name":"cut"}}


        """)
  }
}

/// The lab in Chromium: each button, with its effect in the picture and in the processes.
@Suite(.timeLimit(.minutes(60))) struct LabPageTests {
  @Test(.enabled(if: PageCheck.isInstalled, "\(PageCheck.remedy)"))
  func `each button shows its effect in the picture and in the process`() async throws {
    #expect(try await PictureScript.failures("check_lab.py", [CommandProcess.path]) == nil)
  }
}
