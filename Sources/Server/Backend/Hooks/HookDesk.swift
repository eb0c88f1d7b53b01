import HoldfastCore
import HoldfastDriver
import HoldfastMessageServer
import HoldfastPorts
import HoldfastServerParts

/// The questions of all services to the operator's backend. It is used on the loop of the sockets.
///
/// A decision is not delivered at once, but when the handler takes it at the end of its turn.
final class HookDesk {
  /// A function that runs work on the loop after a request has ended.
  typealias Deliver = @Sendable (HookTicket, HookOutcome) -> Void

  private var gate: HookGate
  private let caller: HookCaller
  private let log: BackendLog
  private let deliver: Deliver
  private var lastTicket: UInt64 = 0
  private var decisions: [(HookTicket, HookVerdict)] = []

  init(_ caller: HookCaller, log: BackendLog, deliver: @escaping Deliver) {
    gate = HookGate(policy: caller.policy)
    (self.caller, self.log, self.deliver) = (caller, log, deliver)
  }

  /// The time at which `tick` must be called; `nil` if no question waits.
  var deadline: Instant? { gate.deadline }

  /// Whether reports about ended sockets wait or are under way.
  var hasReports: Bool { gate.hasReports }

  func concerns(_ event: HookEvent) -> Bool { gate.concerns(event) }

  /// Asks a question. Returns the ticket of its decision.
  func ask(_ question: HookQuestion, at now: Instant) -> HookTicket {
    let ticket = nextTicket()
    perform(gate.handle(.ask(ticket, question), at: now))
    return ticket
  }

  /// Withdraws a question whose client does not wait any more.
  func withdraw(_ ticket: HookTicket, at now: Instant) {
    decisions.removeAll { $0.0 == ticket }
    perform(gate.handle(.withdraw(ticket), at: now))
  }

  /// Reports the end of a socket.
  func tell(_ note: HookNote, at now: Instant) {
    perform(gate.handle(.tell(nextTicket(), note), at: now))
  }

  func ended(_ ticket: HookTicket, _ outcome: HookOutcome, at now: Instant) {
    perform(gate.handle(.ended(ticket, outcome), at: now))
  }

  func tick(at now: Instant) {
    if let deadline, deadline <= now { perform(gate.tick(at: now)) }
  }

  /// Returns the decisions in order, and forgets them.
  func takeDecisions() -> [(HookTicket, HookVerdict)] {
    defer { decisions = [] }
    return decisions
  }

  func report(to page: inout MetricsPage) { gate.report(to: &page) }

  private func nextTicket() -> HookTicket {
    lastTicket += 1
    return HookTicket(lastTicket)
  }

  private func perform(_ effects: [HookGate.Effect]) {
    if let name = gate.brokenInvariants(.ofDrivers).first {
      BrokenInvariant.stop(name, in: "HookGate")
    }
    for effect in effects {
      switch effect {
      case .send(let ticket, let body, let limit): send(ticket, body, within: limit)
      case .decide(let ticket, let verdict): decisions.append((ticket, verdict))
      case .report(let event, let detail): log.note(.hookFailed, "\(event.rawValue): \(detail)")
      }
    }
  }

  private func send(_ ticket: HookTicket, _ body: [UInt8], within limit: Duration) {
    let (caller, deliver) = (caller, deliver)
    Task.detached {
      deliver(ticket, await caller.send(body, within: limit, at: BootClock().wall))
    }
  }
}
