package import HoldfastCore
package import HoldfastHealth
import HoldfastJSON

/// The result of a tool call, or a refusal, in the form that the assistant receives.
package struct MCPCallResult: Sendable, Hashable, Codable {
  /// The object as JSON text. Many clients pass only this text to a model (MCP 2025-06-18, Tools,
  /// "Structured Content").
  package var text: String
  /// A JSON object that matches the tool's output schema.
  package var structured: [UInt8]?
  /// Whether the result is a refusal.
  package var isError: Bool

  /// Creates a result.
  package init(text: String, structured: [UInt8]? = nil, isError: Bool = false) {
    self.text = text
    self.structured = structured
    self.isError = isError
  }

  /// Creates a result whose text is the JSON text of an object.
  package init(object: [UInt8], isError: Bool = false) {
    self.init(text: String(decoding: object, as: UTF8.self), structured: object, isError: isError)
  }

  /// Returns a refusal, with a code for programs and a human-readable sentence.
  package static func refused(_ name: String, _ sentence: String) -> MCPCallResult {
    var writer = JSONWriter(capacity: 200)
    writer.beginObject()
    writer.entry("success", false)
    writer.entry("error", name)
    writer.entry("message", sentence)
    writer.endObject()
    return MCPCallResult(object: writer.bytes, isError: true)
  }

  /// Creates a result from a phone's answer to a tool's question.
  ///
  /// `health_data` becomes `healthData`, as the original app's clients expect. A failure receives
  /// `error` and `message`, like every refusal. All other members stay unchanged.
  ///
  /// - Parameters:
  ///   - rejected: The metrics of a summary that were not sent to the phone. Each of them fails
  ///     separately.
  ///   - window: The times of the request to the phone and of its answer, according to the
  ///     backend's clock.
  ///   - provider: What answered the question.
  package init(
    _ answer: HealthObject, of kind: HealthQuestion.Kind, rejected: [RejectedMetric] = [],
    window: ClosedRange<Timestamp>? = nil, from provider: MCPProvider = .phone
  ) {
    guard let copy = ToolTexts(answer.bytes, of: kind, rejected, window, from: provider) else {
      self = .refused("malformed", "The answer cannot be read. Ask again.")
      return
    }
    // A summary in which one metric failed still contains the other results.
    self.init(object: copy.bytes, isError: !answer.succeeded && !copy.hasResults)
  }

  /// Returns a shorter result whose text does not repeat the object.
  ///
  /// Returns `nil` if the client reads only the text, or if the result has no object.
  package func once(in version: MCPVersion) -> MCPCallResult? {
    guard version.takesStructured, structured != nil else { return nil }
    return MCPCallResult(
      text: "The answer is too long to repeat here; it is in structuredContent. Ask for a "
        + "shorter time, with group_by, or with a smaller max_bytes, to get it as text.",
      structured: structured, isError: isError)
  }

  /// Writes the members of the result into an open object.
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
