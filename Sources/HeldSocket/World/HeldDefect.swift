import HoldfastCore
public import HoldfastHeldChecks
import HoldfastHeldSocket
public import HoldfastLinkChecks
public import HoldfastWorldKernel

extension HeldFeature {
  /// A deliberate defect of a held socket.
  public enum Defect: String, DeliberateDefect {
    /// The servers of this world. There is only one.
    public typealias Server = OneServer

    /// The client sends no greeting.
    case noGreeting
    /// The client sends the resume request before its greeting.
    case greetsLate
    /// The client resumes at the beginning instead of at its stored position.
    case forgetsPosition
    /// The client drops every seventh message.
    case dropsMessages
    /// The client passes each message to the socket twice.
    case sendsTwice
    /// The client starts without the messages that an earlier run stored.
    case forgetsOutbox
    /// The client does not report messages that may not have arrived.
    case hidesUnproven
    /// The client reports one message fewer than the number that may not have arrived.
    case countsTooFew
    /// The client does not send standing messages.
    case forgetsStanding
    /// The client sends each standing message twice.
    case repeatsStanding
    /// The client reports messages as proven as soon as they are passed to a socket.
    case provesTooEarly
    case takesLateEvents
    case timersStopAsleep
    case closesAlive
    case ignoresRetryAfter

    public var kinds: [Finding.Kind] {
      switch self {
      case .noGreeting: [.unhealed]
      case .greetsLate: [.unannounced]
      case .forgetsPosition, .sendsTwice, .repeatsStanding: [.duplicated]
      case .dropsMessages, .forgetsOutbox, .forgetsStanding, .provesTooEarly: [.lost]
      case .hidesUnproven, .countsTooFew: [.lost, .duplicated]
      case .takesLateEvents, .timersStopAsleep, .closesAlive, .ignoresRetryAfter: link?.kinds ?? []
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
    let defect = kernel.setup.defect
    switch effect {
    case .greet where defect == .noGreeting, .standing where defect == .forgetsStanding,
      .update(.notice(.unproven)) where defect == .hidesUnproven:
      return []
    case .greet(let attempt, _, _) where defect == .greetsLate:
      return [.resume(attempt, after: Secret("\(own.shown)")), effect]
    case .resume(let attempt, _) where defect == .forgetsPosition:
      return [.resume(attempt, after: Secret("0"))]
    case .update(.message(let message)) where defect == .dropsMessages:
      return (message.number ?? 1) % 7 == 0 ? [] : [effect]
    case .update(.notice(.unproven(let count, let isRepeated))) where defect == .countsTooFew:
      return [.update(.notice(.unproven(count: count - 1, isRepeated: isRepeated)))]
    case .send where defect == .sendsTwice, .standing where defect == .repeatsStanding:
      return [effect, effect]
    case .send(_, let entry) where defect == .provesTooEarly && own.settings.outbox.repeats:
      return [.update(.proven(through: UInt64(entry.message.number ?? 0))), effect]
    case .open, .close, .greet, .resume, .standing, .makeStanding, .send, .ping, .ask,
      .refreshCredentials, .store, .remove, .update:
      return [effect]
    }
  }
}
