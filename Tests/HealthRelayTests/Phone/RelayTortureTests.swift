import Foundation
import LinkCore
import LinkWire
import Testing

@testable import HealthRelay

/// Random lives of a relay: whatever happens in whatever order, what it promises holds.
struct RelayTortureTests {
  @Test(arguments: RelayProfile.allCases)
  func `a thousand random lives keep every promise`(profile: RelayProfile) {
    for seed in 0..<1_000 {
      var life = Life(profile, seed: UInt64(seed))
      for _ in 0..<120 { life.step() }
      life.end()
      #expect(life.broken == [], "seed \(seed)")
      if !life.broken.isEmpty { return }
    }
  }

  @Test func `the judge sees a question that is answered twice`() {
    var life = Life(.service, seed: 1)
    life.judge(.update(.ended(life.receipt("a"))))
    #expect(life.broken == ["a ended more often than it was asked"])
  }

  @Test func `inputs and effects survive a journal, and their secrets do not`() throws {
    let inputs: [RelayModel.Input] = [
      .start, .message(AttemptID(1), .paired(.first)),
      .message(AttemptID(1), .asked(.of("a"), .steps)),
      .prepared(WorkID(1), .init(parts: 2, content: .points(3, isTruncated: true))),
    ]
    let text = String(decoding: try JSONEncoder().encode(inputs), as: UTF8.self)
    for secret in ["123456", "harbour", "t1"] { #expect(!text.contains(secret)) }
    let back = try JSONDecoder().decode([RelayModel.Input].self, from: Data(text.utf8))
    #expect(back.count == 4)
    #expect(back[0] == .start && back[2] == inputs[2] && back[3] == inputs[3])
    #expect(String(describing: RelayModel.Welcome.first).contains("harbour") == false)
    var told = RelayModel(settings: RelaySettings(.service), seed: 1)
    var read = told
    for (was, now) in zip(inputs, back) {
      let effects = try JSONEncoder().encode(told.handle(was, at: .zero))
      #expect(
        try JSONDecoder().decode([RelayModel.Effect].self, from: effects)
          == read.handle(now, at: .zero))
    }
  }
}

/// One random life, and what its judge found.
private struct Life {
  var bench: RelayBench
  private var chance: Chance
  private(set) var broken: [String] = []
  private var judged = 0
  private var asked: [String: Int] = [:]
  private var ended: [String: Int] = [:]
  private var isNotified = false
  private let profile: RelayProfile

  init(_ profile: RelayProfile, seed: UInt64) {
    bench = RelayBench(profile)
    chance = Chance(seed: seed)
    self.profile = profile
  }

  mutating func step() {
    act(Int(chance.next() % 20))
    look()
  }

  mutating func end() {
    bench.give(.stop)
    bench.pass(.seconds(6))
    look()
    if bench.model.line.items != [] { broken.append("questions are left") }
    for (one, next) in zip(bench.problemTimes, bench.problemTimes.dropFirst())
    where one.duration(to: next) < .seconds(30) {
      broken.append("two problems were told within 30 s")
    }
    if bench.model.deadline != nil { broken.append("it waits for something after its end") }
    for id in asked.keys.sorted() where asked[id] != ended[id] {
      broken.append("\(id) was asked \(asked[id] ?? 0) times and ended \(ended[id] ?? 0) times")
    }
  }

  private mutating func act(_ number: Int) {
    let attempt = AttemptID(max(1, bench.attempt.number) - chance.next() % 2)
    switch number {
    case 0...1: bench.give(.start)
    case 2: if chance.next() % 4 == 0 { bench.give(.stop) }
    case 3: bench.give(.lifecycle(chance.next() % 2 == 0 ? .background : .foreground))
    case 4:
      bench.give(
        .reachability(chance.next() % 3 == 0 ? .unreachable : .reachable(path: PathID("a"))))
    case 5:
      bench.give(.lost(attempt, chance.next() % 8 == 0 ? .closed(code: 4409, reason: "") : .reset))
    case 6...8: bench.connect(chance.next() % 2 == 0 ? .resumed : .plain)
    case 9...12: ask("q\(chance.next() % 8)", on: attempt)
    case 13: bench.give(.message(attempt, .cancelled(.of("q\(chance.next() % 8)"))))
    case 14: bench.give(.message(attempt, .unknown(type: "x", nil)))
    case 15: bench.answersPings.toggle()
    case 16: bench.give(.pong(attempt, 1 << 63 | chance.next() % 64))
    case 17: bench.give(.closed(attempt))
    case 18: bench.prepare(parts: Int(chance.next() % 3) + 1)
    case _: bench.pass(.milliseconds(Int64(chance.next() % 50_000)))
    }
  }

  private mutating func ask(_ id: String, on attempt: AttemptID) {
    let before = bench.model.line.items.count
    bench.ask(id, on: attempt)
    // Taken when it stands in line now; it may have been answered in the same breath.
    if bench.model.line.items.count > before { asked[id, default: 0] += 1 }
  }

  private mutating func look() {
    for effect in bench.log[judged...] { judge(effect) }
    judged = bench.log.count
    let state = bench.model.status
    switch state.state {
    case .idle, .error:
      if bench.model.line.items != [] { broken.append("questions wait where nothing happens") }
    case .stopping: break
    case .starting, .running, .reconnecting:
      if bench.model.deadline == nil, state.reason != .obstacle(.unreachable) {
        broken.append("nothing is outstanding in \(state)")
      }
    }
    let works = [.starting, .running, .reconnecting].contains(state.state)
    if isNotified != (works && profile == .service) { broken.append("a wrong notification") }
  }

  mutating func judge(_ effect: RelayModel.Effect) {
    switch effect {
    case .notify: isNotified = true
    case .unnotify: isNotified = false
    case .update(.ended(let receipt)):
      ended[receipt.id.text, default: 0] += 1
      if ended[receipt.id.text, default: 0] > asked[receipt.id.text, default: 0] {
        broken.append("\(receipt.id) ended more often than it was asked")
      }
    case .open, .close, .ping, .read, .send, .discard, .fail, .refuse, .update(.status),
      .update(.pair), .update(.problem):
      break
    }
  }

  func receipt(_ id: String) -> RelayReceipt {
    RelayReceipt(
      RequestLine.Item(id: .of(id), question: .steps, attempt: AttemptID(1), askedAt: .zero),
      .cancelled, at: .zero)
  }
}
