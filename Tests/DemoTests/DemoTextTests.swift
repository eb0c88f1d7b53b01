import HoldfastCommandKit
import HoldfastCore
import Testing

@testable import HoldfastDemo

@Suite struct DemoTextTests {
  private static let ledger = Ledger(
    counts: Counts(sent: 620, shown: 619, lost: 1),
    outcomes: [
      Outcome(
        trouble: .halfOpen, noticed: .milliseconds(2994), whole: .milliseconds(9),
        bounds: .init(noticed: .seconds(5), whole: .milliseconds(4800))),
      Outcome(
        trouble: .kill, noticed: nil, whole: nil,
        bounds: .init(noticed: nil, whole: .seconds(3))),
    ], sections: [Questions(asked: 3, answeredOnce: 2, unanswered: 1).section],
    faults: ["the timeline has 1 holes"])

  private static let events: [DemoEvent] = [
    DemoEvent(at: .zero, what: .title("A phone follows a shop.")),
    DemoEvent(at: .zero, what: .line(.narration, "Waits are cut.")),
    DemoEvent(at: .milliseconds(1), what: .scenario(1, "Steady traffic")),
    DemoEvent(at: .milliseconds(49), what: .line(.server, "runs")),
    DemoEvent(at: .milliseconds(12_350), what: .line(.phone, "says \"hi\"")),
    DemoEvent(at: .milliseconds(35_000), what: .line(.assistant, "asks")),
    DemoEvent(at: .milliseconds(40_001), what: .ledger(ledger)),
  ]

  private static func narration(_ form: Narrator.Form) -> String {
    events.flatMap(Narrator(form).lines).joined(separator: "\n")
  }

  @Test func `prints the story in short lines for people`() {
    #expect(
      Self.narration(.people(Style(isColourful: false))) == """
        A phone follows a shop.
        Waits are cut.

        1. Steady traffic
           0.0 s  server     runs
          12.4 s  phone      says "hi"
          35.0 s  assistant  asks

        The ledger
           trouble         noticed after  at most  whole after  at most
        ✓  half-open link  2.99 s         5.00 s   < 0.01 s     4.80 s
        ✗  phone killed    -              -        never        3.00 s

           messages
        ✓  sent          620
        ✗  shown         619
        ✗  lost          1
        ✓  duplicated    0
        ✓  out of order  0

           questions
        ✓  asked          3
        ✗  answered once  2
        ✗  unanswered     1
        ✓  wrong          0

        ✗  the timeline has 1 holes
        The ledger is not clean.
        """)
  }

  @Test func `colors headings and errors`() {
    let text = Self.narration(.people(Style(isColourful: true)))
    #expect(text.contains("\u{1B}[1m1. Steady traffic\u{1B}[0m"))
    #expect(text.contains("\u{1B}[31m✗  lost          1\u{1B}[0m"))
    #expect(text.contains("\n✓  sent          620\n"))
  }

  @Test func `prints the story as JSON lines for programs`() {
    #expect(
      Self.narration(.json) == #"""
        {"seconds":0.0,"event":"title","text":"A phone follows a shop."}
        {"seconds":0.0,"event":"told","who":"story","text":"Waits are cut."}
        {"seconds":0.001,"event":"chapter","number":1,"title":"Steady traffic"}
        {"seconds":0.049,"event":"told","who":"server","text":"runs"}
        {"seconds":12.35,"event":"told","who":"phone","text":"says \"hi\""}
        {"seconds":35.0,"event":"told","who":"assistant","text":"asks"}
        {"seconds":40.001,"event":"ledger","clean":false,"sent":620,"shown":619,"lost":1,\#
        "duplicated":0,"outOfOrder":0,"altered":0,"unknown":0,\#
        "questions":{"asked":3,"answeredOnce":2,"unanswered":1,"wrong":0},\#
        "troubles":[\#
        {"trouble":"halfOpen","noticedAfter":2.994,"noticedAtMost":5.0,"wholeAfter":0.009,\#
        "wholeAtMost":4.8,"held":true},\#
        {"trouble":"kill","noticedAfter":null,"noticedAtMost":null,"wholeAfter":null,\#
        "wholeAtMost":3.0,"held":false}],"faults":["the timeline has 1 holes"]}
        """#)
  }

  @Test func `parses the output of the phone`() {
    let id = UUID128(high: 1, low: 2)
    let cases: [(String, AppLine?)] = [
      (
        #"{"at":"t","event":"status","status":"RECONNECTING","attempt":1,"of":5,"retryIn":0.1,"#
          + #""mode":"polling","reason":"refused"}"#,
        .status(.init(status: "RECONNECTING", mode: "polling", reason: "refused"))
      ),
      (
        #"{"event":"status","status":"CONNECTED","mode":"live","reason":null}"#,
        .status(.init(status: "CONNECTED", mode: "live"))
      ),
      (
        #"{"event":"message","id":"\#(id)","text":"a\nb","via":"catchUp"}"#,
        .message(MessageChecker.Shown(id: id, text: "a\nb", via: "catchUp"))
      ),
      (
        #"{"event":"notice","kind":"store","detail":"full"}"#,
        .other
      ),
      (#"{"event":"message","id":"none","text":"","via":"live"}"#, nil),
      (#"{"status":"CONNECTED"}"#, nil), ("", nil), ("{", nil), ("{} {}", nil),
    ]
    for (line, read) in cases { #expect(AppLine(line) == read, "\(line)") }
  }

  @Test func `parses the output of the relay`() {
    let cases: [(String, AppLine?)] = [
      (
        #"{"event":"status","status":"running","attempt":0,"of":null}"#,
        .status(.init(status: "running"))
      ),
      (
        #"{"event":"pair","word":"harbour","code":"012345","expiresIn":600}"#,
        .pair(.init(word: "harbour", code: "012345"))
      ),
      (#"{"event":"question","id":"a","outcome":"answered","points":7}"#, .other),
      (#"{"word":"harbour"}"#, nil), ("", nil),
    ]
    for (line, read) in cases { #expect(AppLine(line) == read, "\(line)") }
  }

  @Test func `parses the output of the bottle and its app`() {
    let cases: [(String, AppLine?)] = [
      (
        #"{"event":"status","status":"connected","outstanding":["connection"]}"#,
        .status(.init(status: "connected"))
      ),
      (#"{"event":"drink","id":41,"amountML":150,"time":null,"via":"sync"}"#, .drink(41)),
      (#"{"event":"record","id":7,"amountML":40}"#, .record(7)),
      (#"{"event":"drink","id":1.5,"amountML":150}"#, nil), (#"{"event":"record"}"#, nil),
      (#"{"event":"bottle","state":"asleep"}"#, .other),
      (#"{"event":"bottle","levelML":300,"battery":80,"unsynced":4}"#, .unsynced(4)),
    ]
    for (line, read) in cases { #expect(AppLine(line) == read, "\(line)") }
    #expect(AppLine.Status(status: "connected").isConnected)
    #expect(!AppLine.Status(status: "disconnected").isConnected)
  }

  @Test func `derives the bounds of each fault from the policy and the work`() throws {
    let policy = try DemoPolicy.policy()
    let bounds = Trouble.all.map { $0.bounds(policy, .seconds(2)) }
    let expected: [(noticed: Duration?, whole: Duration)] = [
      (.seconds(2), .milliseconds(3800)), (.seconds(2), .seconds(3)),
      (.seconds(5), .milliseconds(4800)), (.seconds(2), .milliseconds(4300)),
      (.seconds(2), .milliseconds(3650)), (nil, .milliseconds(7400)), (nil, .seconds(3)),
      (.seconds(2), .seconds(4)), (nil, .seconds(3)), (.seconds(2), .milliseconds(4100)),
      (.milliseconds(3500), .milliseconds(4100)), (.seconds(2), .milliseconds(4100)),
      (nil, .seconds(6)), (nil, .seconds(4)), (nil, .seconds(4)),
    ]
    #expect(bounds == expected.map { Outcome.Bounds(noticed: $0.noticed, whole: $0.whole) })
  }

  @Test func `keeps the proportions of the real policy's waits`() throws {
    let (real, cut) = (LinkPolicy.messageStream, try DemoPolicy.policy())
    #expect(real.retry.reconnect == .list([0, 1, 2, 4, 8].map { .seconds($0) }))
    #expect(cut.retry.reconnect == .list([0, 100, 200, 400, 800].map { .milliseconds($0) }))
    #expect(real.liveness.silence == .seconds(90))
    #expect(cut.liveness.silence == .seconds(3))
  }
}
