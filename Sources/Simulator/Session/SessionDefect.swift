import LinkCore
import LinkServerCore
import LinkWire
import Session

extension SessionsFeature {
  /// A deliberate defect of a session, on a phone or on the server.
  public enum Defect: String, DeliberateDefect {
    /// There is one kind of server.
    public typealias Server = OneServer

    // Phones.
    /// Acknowledges messages before its disk holds them.
    case acksEarly
    /// Begins without the prompts that an earlier run stored.
    case forgetsPrompts
    /// Sends each try of a prompt under another key.
    case changesKeys
    /// Shows every third message not at all.
    case dropsMessages
    case showsTwice
    /// Asks for a pong before it said who it is.
    case pingsEarly
    /// Takes an open socket for a session.
    case connectedOnOpen

    // The server.
    /// Runs the program twice.
    case runsTwice
    /// Begins without the prompts that it stored.
    case forgetsKeys
    /// Does not store that the program was started.
    case forgetsMarks
    /// Says that everything is there although something was dropped.
    case hidesLoss
    /// Repeats messages under another id.
    case renamesMessages
    /// Says that messages are missing although none is.
    case inventsLoss
    /// Keeps answers, and sends none.
    case staysSilent

    case takesLateEvents
    case timersStopAsleep
    case closesAlive
    case ignoresWish
    case noLiveness

    public var kinds: [Finding.Kind] {
      switch self {
      case .acksEarly: [.unstored]
      case .forgetsPrompts, .dropsMessages: [.lost, .unhealed]
      case .changesKeys, .showsTwice, .runsTwice, .forgetsKeys, .forgetsMarks, .renamesMessages:
        [.duplicated]
      case .pingsEarly: [.unannounced]
      case .connectedOnOpen: [.falselyConnected]
      case .hidesLoss: [.lost, .unhealed]
      case .inventsLoss: [.falseGap]
      case .staysSilent: [.unhealed, .lost]
      case .takesLateEvents, .timersStopAsleep, .closesAlive, .ignoresWish, .noLiveness:
        link?.kinds ?? []
      }
    }

    public var seeds: Int { 100 }
  }
}

/// The seam between the world and its machines: clean, or as a defect would have it.
struct SessionSeam {
  let defect: SessionsFeature.Defect?
  private var tries: UInt64 = 0
  private var attempt: AttemptID?

  init(_ defect: SessionsFeature.Defect?) {
    self.defect = defect
  }

  func restored(_ snapshot: ClientSessionSnapshot) -> ClientSessionSnapshot {
    guard defect == .forgetsPrompts else { return snapshot }
    var less = snapshot
    less.prompts = []
    return less
  }

  func restored(_ kept: SessionKept) -> SessionKept {
    guard defect == .forgetsKeys else { return kept }
    var less = kept
    less.prompts = [:]
    return less
  }

  mutating func toPhone(_ input: SessionModel.Input) -> [SessionModel.Input] {
    guard defect == .connectedOnOpen, case .opened(let attempt) = input else { return [input] }
    let hello = SessionServerMessage.hello(SessionHello(message: ""))
    let connected = SessionServerMessage.connected(
      SessionConnected(message: "", session: "", version: .newest))
    let wall = Timestamp(nanoseconds: 0)
    return [input] + [hello, connected].map { .frame(attempt, $0, bytes: 0, at: wall) }
  }

  mutating func fromPhone(_ effect: SessionModel.Effect) -> [SessionModel.Effect] {
    if case .connect(let attempt, _, _) = effect { self.attempt = attempt }
    switch (defect, effect) {
    case (.acksEarly, .commit(_, let change)):
      return change.news.compactMap { acknowledgement(of: $0) } + [effect]
    case (.changesKeys, .send(let attempt, .prompt(var prompt))):
      tries += 1
      prompt.idempotencyKey = UUID128(high: 0xBAD, low: tries).description
      prompt.number = nil
      return [.send(attempt, .prompt(prompt))]
    case (.dropsMessages, .update(.message(_, _, let news))): return news % 3 == 0 ? [] : [effect]
    case (.showsTwice, .update(.message)): return [effect, effect]
    case (.pingsEarly, .connect(let attempt, _, _)): return [.send(attempt, .ping), effect]
    case (_, _): return [effect]
    }
  }

  private func acknowledgement(of news: SessionNews) -> SessionModel.Effect? {
    guard let attempt else { return nil }
    switch news {
    case .message(let entry, _), .answer(let entry, _, _):
      return .send(attempt, .messageAck(entry.id))
    case .ended: return nil
    }
  }

  mutating func fromServer(_ effect: SessionServer.Effect) -> [SessionServer.Effect] {
    switch (defect, effect) {
    case (.runsTwice, .run): return [effect, effect]
    case (.forgetsMarks, .store(let token, let changes)):
      let kept = changes.filter { if case .started = $0 { false } else { true } }
      return [.store(token, kept)]
    case (.hidesLoss, .send(let id, .connected(var connected))):
      if connected.isRecovered == false { connected.isRecovered = true }
      return [.send(id, .connected(connected))]
    case (.hidesLoss, .send(_, .error(let error))):
      return error.code == "not_recovered" ? [] : [effect]
    case (.hidesLoss, .send(let id, .history(var window))):
      window.gap = nil
      return [.send(id, .history(window))]
    case (.inventsLoss, .send(let id, .connected(var connected))):
      connected.isRecovered = false
      return [.send(id, .connected(connected))]
    case (.renamesMessages, .send(let id, .replay(let message, var entry, let number))):
      entry.id = message + "-again"
      return [.send(id, .replay(id: entry.id, entry, number: number))]
    case (.staysSilent, .send(_, .response)), (.staysSilent, .send(_, .replay)),
      (.staysSilent, .send(_, .history)), (.staysSilent, .send(_, .historyBatch)):
      return []
    case (_, _): return [effect]
    }
  }
}
