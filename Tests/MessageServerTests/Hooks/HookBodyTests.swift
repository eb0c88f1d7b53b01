import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastAssistants
@testable import HoldfastMessageServer
@testable import HoldfastServerParts

/// Tests of the bodies of requests to the operator's backend, and of how its answers are read.
struct HookBodyTests {
  private static let at = Timestamp(nanoseconds: 1_767_323_045_000_000_000)
  private static let client = HookClient(
    ConnectionID(4_294_967_297), route: "stream", user: "ann", shop: "bakery",
    address: "203.0.113.9")

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test func `a question about a socket has its client`() {
    #expect(
      Self.text(HookQuestion(.connect, of: Self.client, at: Self.at).body)
        == #"{"event":"connect","id":"4294967297","route":"stream","user":"ann","shop":"bakery","#
        + #""address":"203.0.113.9","at":"2026-01-02T03:04:05Z"}"#)
    let phone = HookClient(ConnectionID(1), route: "phone")
    #expect(
      Self.text(HookQuestion(.connect, of: phone, at: Self.at).body)
        == #"{"event":"connect","id":"1","route":"phone","user":null,"shop":null,"address":null,"#
        + #""at":"2026-01-02T03:04:05Z"}"#)
  }

  @Test func `a question about a post has its text`() {
    let post = HookPost(
      id: UUID128(high: 0, low: 1), key: UUID128(high: 0, low: 2), user: "ann", shop: "bakery",
      content: MessageContent("\"hi\"\n", parent: UUID128(high: 0, low: 3)))
    let zeros = "00000000-0000-0000-0000-00000000000"
    #expect(
      Self.text(HookQuestion(.post(post), of: Self.client, at: Self.at).body)
        == #"{"event":"post","id":"\#(zeros)1","key":"\#(zeros)2","edit":false,"user":"ann","#
        + #""shop":"bakery","parent":"\#(zeros)3","text":"\"hi\"\n","address":"203.0.113.9","#
        + #""at":"2026-01-02T03:04:05Z"}"#)
  }

  @Test func `a report has the code and the life of its socket`() {
    let note = HookNote(Self.client, code: 1_006, life: .milliseconds(1_500), at: Self.at)
    #expect(
      Self.text(note.body)
        == #"{"event":"disconnect","id":"4294967297","route":"stream","user":"ann","#
        + #""shop":"bakery","address":"203.0.113.9","code":1006,"ms":1500,"#
        + #""at":"2026-01-02T03:04:05Z"}"#)
  }

  @Test(arguments: [
    (200, "", HookReply.allowed), (204, "", .allowed), (299, "OK", .allowed), (200, "[]", .allowed),
    (200, "{}", .allowed), (200, #"{"allow":true}"#, .allowed), (200, #"{"allow":null}"#, .allowed),
    (200, #" {"allow":false,"reason":"banned"}"#, .denied(reason: "banned")),
    (200, #"{"allow":false}"#, .denied(reason: HookReply.noReason)),
    (200, #"{"allow":false,"reason":""}"#, .denied(reason: HookReply.noReason)),
    (200, "\u{FEFF}{\"allow\":false}", .denied(reason: HookReply.noReason)),
    (200, "\u{FEFF} {\"allow\":true}", .allowed),
    (403, "\u{FEFF}{\"reason\":\"too late\"}", .denied(reason: "too late")),
    (403, #"{"reason":"too late"}"#, .denied(reason: "too late")),
    (400, "<html>", .denied(reason: HookReply.noReason)),
    (499, #"{"reason":7}"#, .denied(reason: HookReply.noReason)),
  ])
  func `a response allows or denies`(status: Int, body: String, reply: HookReply) {
    #expect(HookReply(.answered(status: status, body: Array(body.utf8))) == reply)
  }

  @Test(arguments: [
    (200, #"{"allow":fal"#), (200, #"{"allow":"false"}"#), (200, #"{"allow":0}"#), (404, ""),
    (200, "\u{FEFF}{\"allow\":fal"), (200, "{\0\"\0a\0"), (405, ""), (408, ""), (429, ""),
    (500, ""), (503, #"{"allow":true}"#), (302, ""), (199, ""),
  ])
  func `another response is a failure`(status: Int, body: String) {
    guard case .failed = HookReply(.answered(status: status, body: Array(body.utf8))) else {
      Issue.record("\(status) \(body) is a decision")
      return
    }
  }

  @Test(arguments: [199, 200, 201])
  func `a reason has at most 200 scalars`(length: Int) {
    let reason = String(repeating: "é", count: length)
    let body = Array(#"{"allow":false,"reason":"\#(reason)"}"#.utf8)
    #expect(
      HookReply(.answered(status: 200, body: body))
        == .denied(reason: String(repeating: "é", count: min(length, 200))))
  }

  @Test func `a refusal has the status of its verdict`() {
    #expect(HookVerdict.allowed(nil).refusal == nil)
    #expect(HookVerdict.denied(reason: "no").refusal == HTTPRefusal(403, "no"))
    #expect(HookVerdict.unanswered.refusal?.status == 503)
    #expect(HookVerdict.unanswered.refusal?.retryAfter == .seconds(2))
    #expect(HookVerdict.tooMany.refusal?.status == 429)
  }

  @Test(arguments: [
    ("https://hooks.example/a?b=c", true), ("http://127.0.0.1:9000", true),
    ("http://[::1]:9000/x", true), ("http://localhost/x", true), ("http://hooks.example", false),
    ("https://ann:secret@hooks.example", false), ("hooks.example", false), ("", false),
    ("https://hooks.example/#a", false), ("ftp://127.0.0.1", false),
  ])
  func `requests go to https, or to http of this machine`(text: String, isURL: Bool) {
    #expect(OutgoingURL.isValid(text) == isURL)
  }
}
