/// A namespace for the envelope of REST answers: `{"status":int,"message":string,"data":any}`.
package enum Envelope {
  /// Returns the answer to a request that failed. `message` is human-readable.
  package static func error(status: Int, message: String) -> [UInt8] {
    JSONWriter.envelope(status: status, note: message) { $0.null() }
  }

  /// Returns the human-readable text in an error's body, or `nil` if there is none.
  ///
  /// It is the member `message` or, if that is missing or empty, `error`. It is cut to 300
  /// characters, a limit that is Holdfast's own.
  package static func decodeNote(_ body: [UInt8]) -> String? {
    var reader = JSONReader(body)
    let notes = try? notes(in: &reader)
    let note = [notes?.message, notes?.error].compactMap(\.self).first { !$0.isEmpty }
    return note.map { String($0.unicodeScalars.prefix(300)) }
  }

  private static func notes(
    in reader: inout JSONReader
  ) throws(JSONError) -> (message: String?, error: String?) {
    var notes: (message: String?, error: String?)
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.peek() != .string {
        try reader.skipValue()
      } else if reader.matches(key, "message") {
        notes.message = try reader.string()
      } else if reader.matches(key, "error") {
        notes.error = try reader.string()
      } else {
        try reader.skipValue()
      }
    }
    try reader.finish()
    return notes
  }
}

extension JSONWriter {
  /// Returns an envelope with the data that `body` writes.
  package static func envelope(
    status: Int, note: String, capacity: Int = 256, _ body: (inout JSONWriter) -> Void
  ) -> [UInt8] {
    var writer = JSONWriter(capacity: capacity)
    writer.beginObject()
    writer.member("status")
    writer.int(status)
    writer.member("message")
    writer.string(note)
    writer.member("data")
    body(&writer)
    writer.endObject()
    return writer.bytes
  }
}
