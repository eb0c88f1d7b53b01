public import CommandKit
import LinkCore
import LinkJSON
import LinkWire

/// Something that the story tells.
struct StoryEvent: Sendable, Hashable {
  /// Who did it, or whom it happened to.
  enum Who: String, Sendable, Hashable {
    case server, network, phone, assistant, story
  }

  enum What: Sendable, Hashable {
    case title(String)
    case chapter(Int, String)
    case told(Who, String)
    case ledger(Ledger)
  }

  /// Since the story began.
  var at: Duration
  var what: What
}

/// Puts the story into lines.
public struct Narrator: Sendable, Hashable {
  /// For whom the lines are.
  public enum Form: Sendable, Hashable {
    /// Short sentences with a clock in seconds.
    case people(Style)
    /// One JSON object a line.
    case json
  }

  /// For whom the lines are.
  public var form: Form

  /// A narrator for people or programs.
  public init(_ form: Form) {
    self.form = form
  }

  func lines(for event: StoryEvent) -> [String] {
    switch form {
    case .people(let style): sentences(for: event, style)
    case .json: [object(for: event)]
    }
  }

  private func sentences(for event: StoryEvent, _ style: Style) -> [String] {
    switch event.what {
    case .title(let title):
      return [style.heading(title)]
    case .chapter(let number, let title):
      return ["", style.heading("\(number). \(title)")]
    case .told(.story, let text):
      return [text]
    case .told(let who, let text):
      return [
        Self.pad(event.at.seconds(1), to: -6) + " s  " + Self.pad(who.rawValue, to: 11) + text
      ]
    case .ledger(let ledger):
      return ["", style.heading("The ledger")] + ledger.lines(style)
    }
  }

  /// Fills up with spaces, on the left for a negative width.
  private static func pad(_ text: String, to width: Int) -> String {
    let space = String(repeating: " ", count: max(0, abs(width) - text.count))
    return width < 0 ? space + text : text + space
  }

  private func object(for event: StoryEvent) -> String {
    var writer = JSONWriter(capacity: 256)
    writer.beginObject()
    writer.key("seconds")
    writer.double(event.at.wholeMilliseconds)
    writer.key("event")
    switch event.what {
    case .title(let title):
      writer.string("title")
      writer.key("text")
      writer.string(title)
    case .chapter(let number, let title):
      writer.string("chapter")
      writer.key("number")
      writer.int(number)
      writer.key("title")
      writer.string(title)
    case .told(let who, let text):
      writer.string("told")
      writer.key("who")
      writer.string(who.rawValue)
      writer.key("text")
      writer.string(text)
    case .ledger(let ledger):
      writer.string("ledger")
      ledger.write(to: &writer)
    }
    writer.endObject()
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}
