import HoldfastCore
import HoldfastHealthRelay
import HoldfastRelayServer
import HoldfastWorlds
import Testing

@testable import HoldfastLinkChecks
@testable import HoldfastRelayChecks
@testable import HoldfastRelayWorld
@testable import HoldfastWorldKernel

/// Tests of the effects that each fault has in the relay's world.
struct RelayOddityTests {
  /// A plan that was run, with its facts in order.
  private struct Played {
    var outcome: RelayFeature.Outcome
    var facts: [RelayFact] = []

    /// The outcomes that assistants received, with their calls.
    var outcomes: [(call: RelayCallFacts, outcome: RelayOutcome)] {
      var calls: [RequestID: RelayCallFacts] = [:]
      return facts.compactMap { fact in
        if case .called(let callID, let call) = fact { calls[callID] = call }
        guard case .answered(let callID, let outcome) = fact else { return nil }
        return calls[callID].map { ($0, outcome) }
      }
    }

    /// Returns the refusals that an assistant's calls received.
    func refusals(of assistant: Int) -> [RelayRefusal] {
      outcomes.compactMap { call, outcome in
        guard call.assistant == assistant, case .refused(let reason) = outcome else { return nil }
        return reason
      }
    }

    /// The numbers of the questions that were answered with data, in order.
    var answered: [Int] {
      outcomes.compactMap { if case .data = $0.outcome { $0.call.question } else { nil } }
    }
  }

  /// Runs events at the given seconds. By default, the run takes ten minutes.
  private func play(
    _ events: [(Int, PlannedEvent<RelayEventKind>)], length: Int = 600,
    _ change: (inout RelayNumbers) -> Void = { _ in }
  ) -> Played {
    var numbers = RelayNumbers()
    change(&numbers)
    let plan = WorldPlan<RelayFeature>(
      seed: 1, numbers: numbers, events: events.map { TimedEvent(at: .seconds($0.0), $0.1) },
      length: .seconds(length))
    var facts: [RelayFact] = []
    let outcome = RelayFeature.play(plan, RunSetup()) { seen, _ in
      if case .fact(let fact) = seen { facts.append(fact) }
    }
    #expect(outcome.findings == [])
    return Played(outcome: outcome, facts: facts)
  }

  private let minute = Duration.seconds(60)

  @Test func `an assistant asks a second question while the first one waits`() {
    let played = play([
      (50, PlannedEvent(.slowReading, for: .seconds(100), on: 0)),
      (60, PlannedEvent(.asks, by: minute, on: 0)),
      (61, PlannedEvent(.asksMore, by: minute, on: 0)),
    ])
    let calls = played.facts.compactMap { fact -> Int? in
      switch fact {
      case .called(_, let call): call.question
      case .answered(_, .data): 0
      case _: nil
      }
    }
    #expect(calls.prefix(3) == [1, 2, 0])
  }

  @Test func `a logout cancels the assistant's pending questions`() {
    let played = play([
      (50, PlannedEvent(.slowReading, for: .seconds(100), on: 0)),
      (60, PlannedEvent(.asks, by: minute, on: 0)),
      (61, PlannedEvent(.logsOutAtOnce, on: 0)),
    ])
    #expect(played.refusals(of: 0) == [.cancelled])
    #expect(played.outcomes.contains { $0.outcome == .loggedOut })
  }

  @Test func `a repeated question is answered each time, for one assistant and for two`() {
    let played = play([
      (60, PlannedEvent(.asks, by: minute, on: 1)), (70, PlannedEvent(.repeats, by: minute, on: 1)),
      (80, PlannedEvent(.repeats, by: minute, on: 2)),
    ])
    #expect(played.answered.prefix(3) == [1, 1, 1])
  }

  @Test func `a used pairing code is refused`() {
    let played = play([(60, PlannedEvent(.triesOldPair, on: 0))])
    #expect(played.refusals(of: 0) == [.wrongPair])
  }

  @Test func `foreign clients that guess are locked out, and nobody else is`() {
    let played = play([(60, PlannedEvent(.guesses, 24)), (70, PlannedEvent(.pairsAgain, 1, on: 0))])
    let guesses = (0..<4).map { played.refusals(of: RelayFeature.assistants + $0) }
    for refusals in guesses {
      #expect(refusals.prefix(5) == Array(repeating: RelayRefusal.wrongPair, count: 5)[...])
      #expect(refusals.last == .lockedOut(retryAfter: .seconds(900)))
    }
    #expect(played.refusals(of: 0) == [])
  }

  @Test func `a ninth login signs the first assistant out`() {
    let played = play([(60, PlannedEvent(.pairsAgain, 8, on: 0))])
    #expect(played.refusals(of: 0) == [.signedOut(.byAnother(limit: 8))])
  }

  @Test func `an eighth login signs nobody out`() {
    let played = play([(60, PlannedEvent(.pairsAgain, 7, on: 0))])
    #expect(played.refusals(of: 0) == [])
    #expect(played.answered.first == 1)
  }

  @Test func `a token expires during the run, and its assistant is informed`() {
    let events = [200, 400].map { ($0, PlannedEvent<RelayEventKind>(.asks, by: minute, on: 0)) }
    let played = play(events) { $0.tokenLife = .seconds(300) }
    #expect(played.answered.first == 1)
    #expect(played.refusals(of: 0) == [.tokenExpired])
  }

  @Test(arguments: [(0, 580, true), (0, 720, false), (1, 720, true)])
  func `an absence beyond the grace ends the pairing, unless a push can wake the phone`(
    push: Int, absence: Int, isPaired: Bool
  ) {
    let played = play(
      [
        (60, PlannedEvent(.suspend, for: .seconds(absence), on: 0)),
        (absence + 100, PlannedEvent(.asks, by: minute, on: 0)),
      ], length: 1_000
    ) {
      $0.push = push
      // The link ends immediately when the app enters the background.
      $0.services = 0
    }
    let isReplaced = played.refusals(of: 0).contains {
      switch $0 {
      case .phoneReplaced, .phoneAway(_, .pairAgain): true
      case _: false
      }
    }
    #expect(isReplaced != isPaired)
  }

  @Test func `a phone that leaves during a question is woken, and answers`() {
    let played = play([
      (50, PlannedEvent(.slowReading, for: .seconds(20), on: 0)),
      (60, PlannedEvent(.asks, by: minute, on: 0)),
      (61, PlannedEvent(.background, for: .seconds(120), on: 0)),
    ]) {
      $0.push = 1
      $0.services = 0
    }
    #expect(played.facts.contains(.pushed(phone: 0)))
    #expect(played.answered.first == 1)
  }

  @Test func `a backend whose store fails refuses a login, and accepts the next`() {
    let played = play([
      (60, PlannedEvent(.storeFull, for: .seconds(20), at: .backend)),
      (65, PlannedEvent(.pairsAgain, 1, on: 0)),
    ])
    #expect(played.refusals(of: 0) == [.storeFailed(retryAfter: .seconds(2))])
    #expect(played.outcomes.last { $0.call.pair != nil }?.outcome.name == "logged_in")
  }
}
