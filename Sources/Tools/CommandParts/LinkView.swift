import Glibc
package import HoldfastCommandKit
import HoldfastCore
import HoldfastPorts

/// An update of a link that commands can show as lines of text or as JSON events.
package protocol ShownUpdate: Sendable {
  /// The state of the link, if the update reports it; otherwise `nil`.
  var state: LinkState? { get }
  /// Whether repeated lines of the update are counted instead of printed.
  var isNotice: Bool { get }
  /// Returns the lines for an update that does not report the state.
  func lines(_ style: Style) -> [String]
  /// Writes the events for an update that does not report the state.
  func write(to events: JSONEvents)
}

/// The output of a command that follows a link.
package protocol LinkView<Update>: Sendable {
  associatedtype Update: ShownUpdate

  func show(_ update: Update) async
  /// Shows a notice from the command itself.
  func note(_ kind: String, _ detail: String?) async
  /// Shows everything that is still held back. No calls may follow.
  func end() async
}

/// A view that prints plain lines to a pipe or a file.
actor LineView<Update: ShownUpdate>: LinkView {
  private let console: Console
  private let clock = BootClock()
  private let isMixed: Bool
  private let prefix: String
  private var repeats = Repeats()

  /// Creates a view that prints lines.
  ///
  /// - Parameters:
  ///   - isMixed: Whether states and notices are also printed on standard output, among the
  ///     results. Otherwise, they are printed on standard error.
  ///   - name: The name to print in brackets at the beginning of each line; `nil` for none.
  init(_ console: Console, isMixed: Bool = true, name: String? = nil) {
    self.console = console
    self.isMixed = isMixed
    prefix = name.map { "[\($0)] " } ?? ""
  }

  func show(_ update: Update) {
    if let state = update.state {
      put(["-- \(state.text(at: clock.now))"], isNotice: false)
    } else if isMixed || update.isNotice {
      put(update.lines(console.style), isNotice: update.isNotice)
    } else {
      for line in update.lines(console.style) { console.line(prefix + line) }
    }
  }

  func note(_ kind: String, _ detail: String?) {
    put([NoticeText.line(kind, detail)], isNotice: true)
  }

  func end() { write(repeats.counted()) }

  private func put(_ lines: [String], isNotice: Bool) {
    write(repeats.lines(lines, isNotice: isNotice, at: clock.now))
  }

  private func write(_ lines: [String]) {
    for line in lines {
      if isMixed { console.line(prefix + line) } else { console.diagnostic(prefix + line) }
    }
  }
}

/// A view that prints JSON events.
actor EventView<Update: ShownUpdate>: LinkView {
  private let events: JSONEvents

  /// - Parameter shop: The shop that is added to each event; `nil` for none.
  init(_ console: Console, shop: String? = nil) {
    events = JSONEvents(console, shop: shop)
  }

  func show(_ update: Update) {
    if let state = update.state { events.write(state) } else { update.write(to: events) }
  }

  func note(_ kind: String, _ detail: String?) { events.note(kind, detail) }

  func end() {}
}

/// The format of a notice's line.
package enum NoticeText {
  package static func line(_ kind: String, _ detail: String?) -> String {
    "-- \(kind)" + (detail.map { ": \($0.printable)" } ?? "")
  }
}

extension Invocation {
  /// Whether standard input is a terminal.
  package static var isTyped: Bool { isatty(STDIN_FILENO) == 1 }

  /// Whether the command prints text on a terminal that can move the cursor.
  package var hasScreen: Bool {
    !self[Shared.json] && isatty(STDOUT_FILENO) == 1 && environment("TERM") != "dumb"
  }

  /// Returns the screen for a command; `nil` with `--json` or without a capable terminal.
  ///
  /// - Parameter longest: The maximum length of a typed line, in bytes.
  package func screen<Update: ShownUpdate>(of type: Update.Type, longest: Int) -> Screen<Update>? {
    guard hasScreen else { return nil }
    return Screen(style: console.style, reads: Self.isTyped, longest: longest)
  }

  /// Returns the view that `--json` selects: JSON events or plain lines.
  ///
  /// - Parameters:
  ///   - isMixed: Whether plain lines with states and notices are also printed on standard output.
  ///   - shop: The shop that is added to lines and events; `nil` if there is only one shop.
  package func view<Update: ShownUpdate>(
    of type: Update.Type, isMixed: Bool = true, shop: String? = nil
  ) -> any LinkView<Update> {
    self[Shared.json]
      ? EventView<Update>(console, shop: shop)
      : LineView<Update>(console, isMixed: isMixed, name: shop)
  }
}
