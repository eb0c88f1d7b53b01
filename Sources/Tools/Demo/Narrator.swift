public import HoldfastCommandKit
import HoldfastCore
import HoldfastJSON

/// An event that the demo reports.
struct DemoEvent: Sendable, Hashable {
  /// The party that an event concerns.
  enum Who: String, Sendable, Hashable {
    case server, network, phone, assistant, app, bottle, node, database, bus, balancer
    case narration = "story"
  }

  enum What: Sendable, Hashable {
    case title(String)
    case scenario(Int, String)
    case line(Who, String)
    case ledger(Ledger)
  }

  /// The time since the start of the demo.
  var at: Duration
  var what: What
}

/// A formatter of the demo's output.
public struct Narrator: Sendable, Hashable {
  /// The form of the output.
  public enum Form: Sendable, Hashable {
    /// Short sentences, with the time in seconds.
    case people(Style)
    /// One JSON object on each line.
    case json
  }

  /// The form of the output.
  public var form: Form

  /// Creates a formatter for the given form.
  public init(_ form: Form) {
    self.form = form
  }

  func lines(for event: DemoEvent) -> [String] {
    switch form {
    case .people(let style): sentences(for: event, style)
    case .json: [object(for: event)]
    }
  }

  private func sentences(for event: DemoEvent, _ style: Style) -> [String] {
    switch event.what {
    case .title(let title):
      return [style.heading(title)]
    case .scenario(let number, let title):
      return ["", style.heading("\(number). \(title)")]
    case .line(.narration, let text):
      return [text]
    case .line(let who, let text):
      return [
        Self.pad(event.at.seconds(1), to: -6) + " s  " + Self.pad(who.rawValue, to: 11) + text
      ]
    case .ledger(let ledger):
      return ["", style.heading("The ledger")] + ledger.lines(style)
    }
  }

  /// Returns a text padded with spaces. If `width` is negative, the spaces are on the left.
  private static func pad(_ text: String, to width: Int) -> String {
    let space = String(repeating: " ", count: max(0, abs(width) - text.count))
    return width < 0 ? space + text : text + space
  }

  private func object(for event: DemoEvent) -> String {
    var writer = JSONWriter(capacity: 256)
    writer.object { writer in
      writer.entry("seconds", event.at.wholeMilliseconds)
      switch event.what {
      case .title(let title):
        writer.entry("event", "title")
        writer.entry("text", title)
      case .scenario(let number, let title):
        writer.entry("event", "chapter")
        writer.entry("number", number)
        writer.entry("title", title)
      case .line(let who, let text):
        writer.entry("event", "told")
        writer.entry("who", who.rawValue)
        writer.entry("text", text)
      case .ledger(let ledger):
        writer.entry("event", "ledger")
        ledger.write(to: &writer)
      }
    }
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}
