import HoldfastBottleLink
import HoldfastHealthRelay
import HoldfastHeldSocket
import HoldfastMessageStream
import HoldfastSession

@testable import HoldfastCore

/// A machine that is a link or contains one.
protocol LinkedMachine: Machine {
  var link: HeldLink { get }
}

extension HeldLink: LinkedMachine {
  var link: HeldLink { self }
}

extension BottleModel: LinkedMachine {}
extension RelayModel: LinkedMachine {}
extension SessionModel: LinkedMachine {}
extension SocketModel: LinkedMachine {}
extension StreamModel: LinkedMachine {}

/// A generator of inputs for a machine that has a link.
protocol LinkedGenerator: InputGenerator where Subject: LinkedMachine {
  /// Returns the attempt that an effect refers to.
  static func attempt(of effect: Subject.Effect) -> AttemptID?
  /// Returns the input that reports an event to the machine.
  static func input(_ event: LinkEvent, at wall: Timestamp) -> Subject.Input
}

extension LinkedGenerator where Subject.Input: LinkInput {
  static func input(_ event: LinkEvent, at wall: Timestamp) -> Subject.Input {
    Subject.Input(event, at: wall)
  }
}

// MARK: Inputs from any device and any socket
extension LinkedGenerator {
  /// The current or the queued attempt, or an attempt that never existed.
  var attempt: AttemptID {
    machine.link.currentAttempt ?? machine.link.queuedAttempt ?? AttemptID(99)
  }

  /// Returns the current attempt, or an attempt shortly before or after it.
  mutating func anyAttempt() -> AttemptID {
    oneIn(2) ? attempt : AttemptID(UInt64(number(0...3)) &+ attempt.number &- 2)
  }

  mutating func report(_ event: LinkEvent) { give(Self.input(event, at: wall)) }

  mutating func changeDevice() { report(.device(deviceChange())) }

  /// Removes every condition of the device that prevents a link from connecting.
  mutating func free() {
    report(.device(.lifecycle(.foreground)))
    report(.device(.reachability(.reachable(path: PathID("wifi")))))
  }

  /// Passes an input of a socket that is not a message, such as a loss. The socket may be an old
  /// one.
  ///
  /// - Parameter ping: The identifier of the newest ping.
  mutating func disturbLink(ping: UInt64) {
    let attempt = anyAttempt()
    switch number(0...5) {
    case 0: report(.ping(attempt))
    case 1, 2: report(.pong(attempt, oneIn(3) ? ping &- 1 : ping))
    case 3: report(.oversized(attempt, bytes: 5_000_000))
    case _: report(.lost(attempt, linkFailure()))
    }
  }
}

extension RandomValues {
  /// Returns a change of the device. Most changes let a link connect.
  mutating func deviceChange() -> DeviceChange {
    switch number(0...9) {
    case 0...2: .reachability(.reachable(path: PathID("wifi")))
    case 3: .reachability(.reachable(path: PathID("cell"), traits: one([.cellular, .expensive])))
    case 4: .reachability(oneIn(2) ? .unreachable : .captivePortal)
    case 5, 6: .lifecycle(.foreground)
    case 7: .lifecycle(.background)
    case 8: .woke
    case _: .again
    }
  }

  /// Returns a change of the credentials. Most changes let a link connect.
  mutating func credentialsEvent() -> HeldLink.CredentialsEvent {
    switch number(0...9) {
    case 0: .refreshFailed(detail: maybe("no token"))
    case 1: oneIn(2) ? .rejected : .cleared
    case 2...4: .available(expiresIn: .seconds(one([-1, 0, 1, 3, 61, 90])))
    case _: .available(expiresIn: nil)
    }
  }
}

extension MachineProperty where Generator: LinkedGenerator {
  /// The promise that effects only refer to the current attempt, or to one that began in this step.
  ///
  /// An attempt that has ended is no longer current, and its identifier is not reused.
  static var usesPresentAttempt: MachineProperty {
    MachineProperty("only the present attempt is used") { _, step in
      let (before, after) = (step.before.link, step.after.link)
      let present = [before.currentAttempt, before.queuedAttempt, after.currentAttempt]
      return step.effects.compactMap { Generator.attempt(of: $0) }.allSatisfy {
        present.contains($0) || $0.number > before.lastAttempt
      }
    }
  }
}

extension MachineProperty {
  /// Returns the promise that a status is reported exactly when it has changed.
  static func reportsChanges<Status: Equatable & Sendable>(
    of status: @escaping @Sendable (Generator.Subject) -> Status,
    by reported: @escaping @Sendable (Generator.Subject.Effect) -> Status?
  ) -> MachineProperty {
    MachineProperty("every status change is reported, and nothing else") { _, step in
      let (before, after) = (status(step.before), status(step.after))
      return step.effects.compactMap { reported($0) } == (before == after ? [] : [after])
    }
  }
}
