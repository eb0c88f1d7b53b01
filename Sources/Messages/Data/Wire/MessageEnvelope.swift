import HoldfastJSON

extension Envelope {
  /// Returns the answer to a message that was sent.
  package static func message(_ message: ShopMessage, status: Int, note: String) -> [UInt8] {
    let capacity = JSONWriter.capacity(for: [message])
    return JSONWriter.envelope(status: status, note: note, capacity: capacity) {
      $0.message(message)
    }
  }

  /// Returns the answer to a deletion. A plain server describes it only with a text.
  package static func deletion(_ deletion: ShopDeletion?, note: String) -> [UInt8] {
    JSONWriter.envelope(status: 200, note: note) { writer in
      if let deletion { writer.deletion(deletion) } else { writer.null() }
    }
  }

  /// Returns the answer with all messages, in the given order.
  package static func messages(_ messages: [ShopMessage]) -> [UInt8] {
    let capacity = JSONWriter.capacity(for: messages)
    return JSONWriter.envelope(status: 200, note: "", capacity: capacity) {
      $0.messages(messages)
    }
  }

  /// Reads the answer to a message that was sent. It is an envelope or only the message.
  ///
  /// The limit on frame bytes does not apply. Throws an error if there is no valid message of
  /// `shop`.
  package static func decodeMessage(
    _ body: [UInt8], shop: ShopID, limits: MessageLimits = MessageLimits()
  ) throws(MessageError) -> ShopMessage {
    let fields = try JSONReader.read(body) { (reader) throws(JSONError) in
      var bare = MessageReader(shop: shop, limits: limits)
      var data: MessageReader?
      try reader.beginObject()
      while let key = try reader.nextKey() {
        guard reader.matches(key, "data"), try reader.peek() == .object else {
          try bare.read(key, from: &reader)
          continue
        }
        var fields = MessageReader(shop: shop, limits: limits)
        try fields.readObject(from: &reader)
        data = fields
      }
      return data ?? bare
    }
    return try fields.message()
  }

  /// Reads the answer to an edit. Returns `nil` if it does not contain the message, as that of a
  /// plain server. Throws an error if it is not JSON or contains an invalid message.
  package static func decodeEdit(
    _ body: [UInt8], shop: ShopID
  ) throws(MessageError) -> ShopMessage? {
    try decodeData(body, shop: shop)?.message()
  }

  /// Reads the answer to a deletion. Returns `nil` if it does not contain the deletion, as that of a
  /// plain server. Throws an error if it is not JSON or contains an invalid deletion.
  package static func decodeDeletion(
    _ body: [UInt8], shop: ShopID
  ) throws(MessageError) -> ShopDeletion? {
    try decodeData(body, shop: shop)?.deletion(isNotice: false)
  }

  /// Reads the fields of the member `data`. Returns `nil` if it is not an object.
  private static func decodeData(
    _ body: [UInt8], shop: ShopID
  ) throws(MessageError) -> MessageReader? {
    try JSONReader.read(body) { (reader) throws(JSONError) in
      var data: MessageReader?
      try reader.beginObject()
      while let key = try reader.nextKey() {
        guard reader.matches(key, "data") else {
          try reader.skipValue()
          continue
        }
        guard try reader.peek() == .object else {
          data = nil
          try reader.skipValue()
          continue
        }
        var fields = MessageReader(shop: shop, limits: MessageLimits())
        try fields.readObject(from: &reader)
        data = fields
      }
      return data
    }
  }
}

/// A namespace for the header fields of a stream's upgrade. `head` and `after` contain a position
/// (`epoch:offset`).
///
/// They are an extension. Plain servers neither read nor send them.
package enum StreamHeader {
  /// In the answer: the newest position at the time when the server began to send.
  package static let head = "Holdfast-Head"
  /// In the request: the position after which the client needs messages first.
  ///
  /// In the answer: confirms that the server sends these messages as frames before newer ones.
  /// Without the field, the stream begins after its head.
  package static let after = "Holdfast-After"
  /// In a request for a stream or a page: `1` requests edits and deletions.
  ///
  /// In the answer: confirms that the server sends them.
  package static let events = "Holdfast-Events"
}
