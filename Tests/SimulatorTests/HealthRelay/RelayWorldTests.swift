import Foundation
import HoldfastCore
import HoldfastHealth
import HoldfastHealthRelay
import HoldfastLinkChecks
import HoldfastRelayChecks
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastWorlds
import Testing

/// Tests of the simulated world of phones, a backend and assistants.
struct RelayWorldTests {
  @Test(.timeLimit(.minutes(60)), arguments: DayPreset.allCases)
  func `every question has one answer or one honest error`(preset: DayPreset) {
    for seed in UInt64(1)...3 {
      let outcome = RelayFeature.play(.drawn(preset, seed: seed))
      #expect(outcome.findings == [], "\(preset) \(seed)")
      #expect(outcome.counts[.questions] > 10)
    }
  }

  @Test func `equal plans make equal runs, and different plans different ones`() {
    let digests = (UInt64(1)...5).map { seed in
      let plan = WorldPlan<RelayFeature>.drawn(.swarm, seed: seed)
      let outcome = RelayFeature.play(plan)
      #expect(RelayFeature.play(plan) == outcome)
      return outcome.digest
    }
    #expect(Set(digests).count == digests.count)
  }

  @Test func `an answer of another length changes the digest`() {
    var plan = WorldPlan<RelayFeature>.drawn(.lift, seed: 3)
    plan.numbers.answerBytes = 5_000
    let first = RelayFeature.play(plan).digest
    plan.numbers.answerBytes = 9_000
    #expect(RelayFeature.play(plan).digest != first)
  }

  @Test func `twelve runs contain many events of each kind`() {
    var counts = RunCounts<RelayCounter>()
    for seed in UInt64(1)...12 {
      counts.add(RelayFeature.play(.drawn(.swarm, seed: seed)).counts)
    }
    #expect(counts[.answered] > counts[.questions] / 2)
    #expect(counts[.refused] > 12)
    #expect(counts[.pulls] > 3)
    #expect(counts[.pushes] >= counts[.pulls])
    #expect(counts.kills > 10)
  }

  @Test func `the journal of a run contains no code, word or token`() throws {
    var lines: [Data] = []
    var secrets: SecretTexts = []
    let encoder = JSONEncoder()
    _ = RelayFeature.play(.drawn(.swarm, seed: 4), RunSetup()) { seen, phoneState in
      if phoneState.secrets.count > secrets.count { secrets = phoneState.secrets }
      switch seen {
      case .received(_, let input, _, let effects):
        if let line = try? encoder.encode(input) { lines.append(line) }
        lines += effects.compactMap { try? encoder.encode($0) }
      case .ticked(_, let effects): lines += effects.compactMap { try? encoder.encode($0) }
      case .launched, .killed, .suspended, .resumed, .upgraded, .serverLost, .wentDead, .server,
        .began,
        .ended, .calm, .fact:
        return
      }
    }
    let journal = String(decoding: Data(lines.joined(separator: [10])), as: UTF8.self)
    #expect(lines.count > 100 && secrets.count > 10)
    #expect(!secrets.appear(in: journal))
  }

  @Test func `a trace contains each question and its outcome`() {
    var trace: [String] = []
    _ = Trace<RelayFeature>.play(.drawn(.lift, seed: 1)) { trace.append($0.text) }
    #expect(trace.contains { $0.contains("asks question 1 of phone") })
    #expect(trace.contains { $0.hasSuffix("shows a word and a code (phone 0)") })
    #expect(trace.contains { $0.contains("tells call 1: it is logged in") })
  }
}

/// Tests that apply the checkers of a relay's link to a journal.
struct RelayRecordTests {
  @Test func `a correct run satisfies the checkers, and too many attempts do not`() {
    #expect(Self.findings() == [])
    let found = Self.findings { effect in
      if case .open = effect { Array(repeating: effect, count: 31) } else { [effect] }
    }
    #expect(found.map(\.kind).contains(.storm))
  }

  @Test func `finds a question that ends twice, and one that does not end`() {
    let twice = Self.findings { effect in
      if case .update(.ended) = effect { [effect, effect] } else { [effect] }
    }
    #expect(twice.map(\.kind) == [.doubled])
    let never = Self.findings { effect in
      if case .update(.ended) = effect { [] } else { [effect] }
    }
    #expect(never.map(\.kind) == [.unanswered])
  }

  @Test func `finds a notification that does not match the state`() {
    let early = Self.findings { if case .notify = $0 { [] } else { [$0] } }
    #expect(early.map(\.kind).contains(.misleading))
    let late = Self.findings { if case .unnotify = $0 { [] } else { [$0] } }
    #expect(late.map(\.kind) == [.misleading])
  }

  @Test func `two problems reported within 30 s are detected`() {
    let found = Self.findings { effect in
      guard case .open = effect else { return [effect] }
      let problem = RelayModel.Effect.update(.problem(.malformed("x"), withheld: 0))
      return [effect, problem, problem]
    }
    #expect(found.map(\.kind).contains(.storm))
  }

  private static func findings(
    change: (RelayModel.Effect) -> [RelayModel.Effect] = { [$0] }
  ) -> [Finding] {
    var model = RelayModel(settings: RelaySettings(.service), seed: 1)
    var recorded = Recorded<RelayFeature>(model)
    func give(_ input: RelayModel.Input, at second: Int64) {
      let now = Instant.zero.advanced(by: .seconds(second))
      let effects = model.handle(input, at: now)
      recorded.see(input, at: now, effects: effects.flatMap(change), then: model)
    }
    give(.link(.device(.reachability(.reachable(path: PathID("wifi"))))), at: 0)
    give(.start, at: 1)
    if let attempt = model.link.currentAttempt {
      give(.opened(attempt), at: 2)
      let pair = RelayPair(code: Secret("123456"), word: Secret("tree"))
      give(.message(attempt, .paired(RelayModel.Welcome(pair: pair))), at: 3)
      if let id = RelayRequestID("q1"), let day = HealthTime("2026-11-01") {
        let query = HealthDataQuery(valueType: .steps, start: day, end: day)
        give(.message(attempt, .asked(id, .healthData(query))), at: 3)
      }
      give(.link(.lost(attempt, .reset)), at: 4)
    }
    give(.stop, at: 5)
    recorded.conclude()
    return recorded.findings
  }
}

/// Tests that replay relay plans that failed in the past or that reveal a defect.
struct RelayCorpusTests {
  static let folder = CorpusTests.folder.appending(path: "relay")
  static let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
    .filter { $0.hasSuffix(".json") }.sorted()

  @Test(arguments: names) func `gives the expected findings`(name: String) throws {
    let bytes = try Data(contentsOf: Self.folder.appending(path: name))
    let corpusCase = try JSONDecoder().decode(CorpusCase<RelayFeature>.self, from: bytes)
    let outcome = RelayFeature.play(corpusCase.plan, corpusCase.setup)
    #expect(outcome.kinds == corpusCase.expected, "\(corpusCase.name): \(outcome.findings)")
    #expect(RelayFeature.play(corpusCase.plan, corpusCase.setup) == outcome)
  }
}
