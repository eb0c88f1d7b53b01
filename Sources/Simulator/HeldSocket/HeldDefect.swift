import HeldSocket
import LinkCore

extension HeldFeature {
  /// A deliberate defect of a held socket.
  public enum Defect: String, DeliberateDefect {
    /// There is one kind of server.
    public typealias Server = OneServer

    /// Sends no greeting.
    case noGreeting
    /// Sends what it resumes before its greeting.
    case greetsLate
    /// Resumes at the beginning, whatever it noted.
    case forgetsPosition
    /// Drops every seventh message.
    case dropsMessages
    /// Hands each message over twice.
    case sendsTwice
    /// Begins without what an earlier run stored.
    case forgetsOutbox
    /// Does not tell what may not have arrived.
    case hidesUnproven
    case takesLateEvents
    case timersStopAsleep

    public var kinds: [Finding.Kind] {
      switch self {
      case .noGreeting: [.unhealed]
      case .greetsLate: [.unannounced]
      case .forgetsPosition, .sendsTwice: [.duplicated]
      case .dropsMessages, .forgetsOutbox: [.lost]
      case .hidesUnproven: [.lost, .duplicated]
      case .takesLateEvents, .timersStopAsleep: link?.kinds ?? []
      }
    }

    public var seeds: Int { 50 }
  }
}

extension HeldWorld {
  func altered(_ input: SocketModel.Input, of phone: HostID) -> [SocketModel.Input] {
    guard kernel.setup.defect == .forgetsOutbox, case .restored = input else { return [input] }
    return [.restored([])]
  }

  func altered(_ effect: SocketModel.Effect, of phone: HostID) -> [SocketModel.Effect] {
    switch (kernel.setup.defect, effect) {
    case (.noGreeting, .greet), (.hidesUnproven, .update(.notice(.unproven))): []
    case (.greetsLate, .greet(let attempt, _, _)):
      [.resume(attempt, after: Secret("\(own.shown)")), effect]
    case (.forgetsPosition, .resume(let attempt, _)): [.resume(attempt, after: Secret("0"))]
    case (.dropsMessages, .update(.message(let message))):
      (message.number ?? 1) % 7 == 0 ? [] : [effect]
    case (.sendsTwice, .send): [effect, effect]
    case (_, _): [effect]
    }
  }
}
