import HoldfastBottleChecks
import HoldfastBottleData
import HoldfastBottleLink
import HoldfastCore
import HoldfastLinkChecks
import HoldfastWorldKernel

extension BottleRadio {
  /// The moments at which a bottle changes its services, as after an update of its firmware.
  enum ServiceChange: String, CaseIterable {
    /// At once.
    case now
    /// After the next discovery, before the first write reaches the bottle.
    case discovery
    /// After the bottle has sent the next chunk of records.
    case transfer
    /// In the first connection of the calm phase.
    case calm
  }
}

// Services that a bottle changes during a connection.
extension BottleWorld {
  /// Changes the services now, or at a later moment.
  mutating func plan(_ change: BottleRadio.ServiceChange) {
    if change == .now { changeLater(after: .zero) } else { radio.changes.append(change) }
  }

  /// Changes the services if a change waits for this moment.
  mutating func reached(_ moment: BottleRadio.ServiceChange) {
    guard radio.link?.subscriber != nil,
      let index = radio.changes.firstIndex(of: moment)
    else { return }
    radio.changes.remove(at: index)
    changeLater(after: .milliseconds(2))
  }

  private mutating func changeLater(after wait: Duration) {
    guard let link = radio.link else { return }
    kernel.later(.changes(link: link.number), after: wait)
  }

  /// Changes the services of a connection.
  ///
  /// Subscriptions and requests end with the services that they concern. The phone learns of the
  /// change before it learns of the requests that failed.
  mutating func changeServices(_ number: UInt64) {
    guard let link = radio.link, link.number == number, radio.bottleLink == number else { return }
    guard isInRange else {
      radio.link?.stalled.append(.changes(link: number))
      return
    }
    radio.link?.services += 1
    radio.link?.subscriber = nil
    radio.link?.unanswered = []
    for ticket in radio.openTickets { deliver(.central(.changed(ticket.attempt))) }
    for id in link.unanswered {
      later(.unwritten(id, BottleRadio.servicesChanged), after: .milliseconds(5))
    }
  }

  /// Returns whether a write that arrives concerns the current services. A write that was sent before
  /// a change may still reach the bottle, but has no answer.
  mutating func concernsServices(_ write: BottleFeature.RadioWrite) -> Bool {
    write.services == radio.link?.services || kernel.happens(0.5)
  }

  /// Ends the wait for the answer to a write. Returns whether the app still waits for it.
  mutating func isAwaited(_ write: BottleFeature.RadioWrite) -> Bool {
    guard write.run == run, write.services == radio.link?.services else { return false }
    radio.link?.unanswered.removeAll { $0 == write.id }
    return true
  }
}
