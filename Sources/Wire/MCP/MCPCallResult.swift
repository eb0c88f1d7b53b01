package import LinkCore
package import LinkHealth
import LinkJSON

/// What a tool gave, or why it gave nothing; both are for the assistant to read.
package struct MCPCallResult: Sendable, Hashable, Codable {
  /// For assistants that read nothing else.
  package var text: String
  /// A JSON object that fits the tool's output schema.
  package var structured: [UInt8]?
  /// What stands for the text where the client reads `structured`; `nil` repeats the text.
  package var brief: String?
  /// Whether it is a refusal.
  package var isError: Bool

  /// The longest object that is repeated as text, in bytes; ours, some 1,500 points.
  ///
  /// No assistant reads more at once, and an event stream of the Python SDK takes 1 MiB an event.
  package static let maxTextBytes = 262_144

  /// A result from its parts.
  package init(
    text: String, structured: [UInt8]? = nil, brief: String? = nil, isError: Bool = false
  ) {
    self.text = text
    self.brief = brief
    self.structured = structured
    self.isError = isError
  }

  /// A result whose text is the object itself, as the specification asks of structured content.
  package init(object: [UInt8], isError: Bool = false) {
    let fits = object.count <= Self.maxTextBytes
    self.init(
      text: fits
        ? String(decoding: object, as: UTF8.self)
        : "The answer has \(object.count) bytes and stands in structuredContent alone. Ask for a "
          + "shorter time, or with group_by and statistic, to get it as text.",
      structured: object, isError: isError)
  }

  /// A refusal: the word is for programs, the sentence for people.
  package static func refused(_ word: String, _ sentence: String) -> MCPCallResult {
    var writer = JSONWriter(capacity: 200)
    writer.beginObject()
    writer.entry("success", false)
    writer.entry("error", word)
    writer.entry("message", sentence)
    writer.endObject()
    return MCPCallResult(text: sentence, structured: writer.bytes, isError: true)
  }

  /// What a phone answered to a tool's question.
  ///
  /// `health_data` becomes `healthData`, as the original's callers know it; the rest stays.
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
    brief = copy.brief(isError: isError)
  }

  /// The result as a client of this version reads it: no object is sent twice.
  package func told(in version: MCPVersion) -> MCPCallResult {
    guard version.takesStructured, structured != nil, let brief else { return self }
    return MCPCallResult(text: brief, structured: structured, isError: isError)
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
