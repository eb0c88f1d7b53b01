package import LinkCore
package import LinkHealth
import LinkJSON

/// What a tool gave, or why it gave nothing; both are for the assistant to read.
package struct MCPCallResult: Sendable, Hashable, Codable {
  /// The object as JSON text: many clients give a model nothing else (MCP 2025-06-18, Tools,
  /// "Structured Content").
  package var text: String
  /// A JSON object that fits the tool's output schema.
  package var structured: [UInt8]?
  /// Whether it is a refusal.
  package var isError: Bool

  /// A result from its parts.
  package init(text: String, structured: [UInt8]? = nil, isError: Bool = false) {
    self.text = text
    self.structured = structured
    self.isError = isError
  }

  /// A result whose text is the object itself.
  package init(object: [UInt8], isError: Bool = false) {
    self.init(text: String(decoding: object, as: UTF8.self), structured: object, isError: isError)
  }

  /// A refusal: the word is for programs, the sentence for people.
  package static func refused(_ word: String, _ sentence: String) -> MCPCallResult {
    var writer = JSONWriter(capacity: 200)
    writer.beginObject()
    writer.entry("success", false)
    writer.entry("error", word)
    writer.entry("message", sentence)
    writer.endObject()
    return MCPCallResult(object: writer.bytes, isError: true)
  }

  /// What a phone answered to a tool's question.
  ///
  /// `health_data` becomes `healthData`, as the original's callers know it; a failure gets `error`
  /// and `message`, as every refusal has them; the rest stays.
  ///
  /// - Parameters:
  ///   - rejected: The lines of a summary that the phone was not asked; each fails by itself.
  ///   - window: When the phone was asked and its answer came, by the backend's clock.
  package init(
    _ answer: HealthObject, of kind: HealthQuestion.Kind, rejected: [RejectedMetric] = [],
    window: ClosedRange<Timestamp>? = nil
  ) {
    guard let copy = HealthCopy(answer.bytes, of: kind, rejected, window) else {
      self = .refused("malformed", "The phone's answer cannot be read. Ask again.")
      return
    }
    // A summary of which one line failed still tells the others.
    self.init(object: copy.bytes, isError: !answer.succeeded && !copy.hasResults)
  }

  /// The result for a channel that does not carry its object twice; `nil` for a client that reads
  /// the text alone, and for a result without an object.
  package func once(in version: MCPVersion) -> MCPCallResult? {
    guard version.takesStructured, structured != nil else { return nil }
    return MCPCallResult(
      text: "The answer is too long to stand here as well as in structuredContent. Ask for a "
        + "shorter time, with group_by, or with a smaller max_bytes, to get it as text.",
      structured: structured, isError: isError)
  }

  /// Writes the members of the result into an object that is open.
  func write(to writer: inout JSONWriter) {
    writer.key("content")
    writer.beginArray()
    writer.beginObject()
    writer.entry("type", "text")
    writer.entry("text", text)
    writer.endObject()
    writer.endArray()
    if let structured {
      writer.key("structuredContent")
      writer.raw(structured)
    }
    writer.entry("isError", isError)
  }
}
