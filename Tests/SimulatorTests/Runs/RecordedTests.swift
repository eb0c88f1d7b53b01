import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastWorlds
import Testing

@testable import HoldfastMessageStream

/// Tests that apply the checkers to a journal.
struct RecordedTests {
  @Test func `a correct run satisfies the checkers`() {
    #expect(Self.findings() == [])
  }

  @Test func `a cursor that skips a message is detected`() {
    let found = Self.findings { effect in
      guard case .commit(let id, var change) = effect else { return [effect] }
      change.messages.removeAll { $0.text == "m2" }
      return [.commit(id, change)]
    }
    let detail = "the cursor is past unstored messages: m2 (1 in all)"
    #expect(found.contains { $0.kind == .early && $0.detail == detail })
  }

  @Test func `a message that is shown twice is detected`() {
    let found = Self.findings { effect in
      if case .update(.messages) = effect { [effect, effect] } else { [effect] }
    }
    #expect(found.map(\.kind) == [.duplicated, .duplicated, .duplicated])
    #expect(found.map(\.detail) == (1...3).map { "shown twice: m\($0)" })
  }

  @Test func `more attempts than the policy allows are detected`() {
    let found = Self.findings { effect in
      if case .open = effect { Array(repeating: effect, count: 31) } else { [effect] }
    }
    #expect(found.map(\.kind).contains(.storm))
  }

  @Test(arguments: [(HeldLink.CredentialsEvent.refreshFailed(), true), (.rejected, false)])
  func `a refresh that failed leaves the user signed in, and a refusal does not`(
    event: HeldLink.CredentialsEvent, isSignedIn: Bool
  ) {
    // A model that does nothing counts as stuck only if the user is signed in.
    let model = StreamModel(settings: Facts.connected.own.settings, seed: 1)
    var recorded = Recorded<StreamFeature>(model)
    let inputs: [StreamModel.Input] = [
      .credentials(.available(expiresIn: nil)), .credentials(event), .open(at: ShopMessage.start),
      .refresh,
    ]
    for (second, input) in inputs.enumerated() {
      recorded.see(input, at: .second(Double(second)), effects: [], then: model)
    }
    let stuck = Finding(.stuck, at: .second(2), "is wanted, and nothing is outstanding")
    #expect(recorded.findings == (isSignedIn ? [stuck] : []))
  }

  @Test func `finds a broken invariant of a journal's machine at its first step`() {
    var model = StreamModel(settings: Facts.connected.own.settings, seed: 1)
    var recorded = Recorded<StreamFeature>(model)
    recorded.see(.refresh, at: .second(1), effects: [], then: model)
    #expect(recorded.findings == [])
    model.history.excess = -1
    for second in [2.0, 3] { recorded.see(.refresh, at: .second(second), effects: [], then: model) }
    let name = "history: a count is never too low"
    #expect(recorded.findings == [Finding(.brokenInvariant, at: .second(2), name)])
  }

  /// Returns the findings in the journal of a short stream whose effects were altered by `change`.
  private static func findings(
    change: (StreamModel.Effect) -> [StreamModel.Effect] = { [$0] }
  ) -> [Finding] {
    var model = StreamModel(settings: Facts.connected.own.settings, seed: 1)
    var recorded = Recorded<StreamFeature>(model)
    var lastFetch: FetchID?
    func give(_ input: StreamModel.Input, at second: Double) {
      let effects = model.handle(input, at: .second(second))
      recorded.see(input, at: .second(second), effects: effects.flatMap(change), then: model)
      for case .commit(let id, let change) in effects {
        give(.committed(id, TimelineCommit(inserted: change.messages.map(\.id))), at: second)
      }
      for case .fetch(let id, _) in effects { lastFetch = id }
    }
    give(.credentials(.available(expiresIn: nil)), at: 0)
    give(.open(at: ShopMessage.start), at: 1)
    give(.loaded(TimelineSnapshot()), at: 2)
    if let id = lastFetch {
      give(.fetched(id, Page(messages: [], hasNext: false, head: .number(0))), at: 3)
    }
    if let attempt = model.currentAttempt {
      give(.opened(attempt, head: .number(0)), at: 4)
      for number in 1...3 {
        give(.frame(attempt, .message(.number(number))), at: 4 + Double(number))
      }
    }
    #expect(model.isWhole)
    recorded.conclude()
    return recorded.findings
  }
}

extension ShopPosition {
  fileprivate static func number(_ offset: UInt64) -> ShopPosition {
    ShopPosition(epoch: "e", offset: offset)
  }
}
