package import HoldfastCommandKit
package import HoldfastJSON
import HoldfastPorts

/// A writer of a command's JSON events, with one object per line.
package struct JSONEvents: Sendable {
  package let console: Console
  private let clock = BootClock()
  private let shop: String?

  /// - Parameter shop: The shop that is added to each event; `nil` if there is only one shop.
  package init(_ console: Console, shop: String? = nil) {
    self.console = console
    self.shop = shop
  }

  /// The beginning of the paragraph that describes the events in help texts.
  package static let details = #"With --json every line has "at" (ISO 8601) and "event": "#

  /// Writes one event, with the time, the event's name and its members.
  ///
  /// - Parameter done: A description of the completed action. It is printed if standard output
  ///   cannot be written.
  package func write(_ event: String, done: String? = nil, _ members: (inout JSONWriter) -> Void) {
    console.object(done: done) {
      $0.entry("at", clock.wall.milliseconds)
      $0.entry("event", event)
      if let shop { $0.entry("shop", shop) }
      members(&$0)
    }
  }

  /// Writes a status event.
  package func write(_ state: LinkState) {
    write("status") { state.write(to: &$0, at: clock.now) }
  }

  /// Writes a notice event.
  package func note(_ kind: String, _ detail: String?) {
    write("notice") {
      $0.entry("kind", kind)
      $0.entry("detail", detail)
    }
  }
}
