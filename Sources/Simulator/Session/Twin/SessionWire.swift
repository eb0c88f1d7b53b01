import LinkCore
import LinkJSON
import LinkWire

/// The comparison of what is written and read with its second account.
enum SessionWire {
  /// Returns how a client's bytes differ from what a message must be.
  static func stray(_ bytes: [UInt8], of message: SessionClientMessage) -> String? {
    difference(bytes, SessionScribe.text(message))
  }

  /// Returns how a server's bytes differ from what a message must be.
  static func stray(_ bytes: [UInt8], of message: SessionServerMessage) -> String? {
    difference(bytes, SessionScribe.text(message))
  }

  private static func difference(_ bytes: [UInt8], _ text: String) -> String? {
    if bytes.elementsEqual(text.utf8) { return nil }
    let found = String(decoding: bytes.prefix(300), as: UTF8.self)
    return "\(text.prefix(300)) is written as \(found)"
  }

  /// Returns how a server reads a client's bytes otherwise than it must.
  static func strayOfServer(reading bytes: [UInt8]) -> String? {
    var found: Outcome<SessionClientMessage>
    do { found = .message(try SessionClientMessage.read(bytes)) } catch { found = .fault(error) }
    var must: Outcome<SessionClientMessage>
    do { must = .message(try SessionReading.client(bytes)) } catch { must = .missing(error.field) }
    return found.stray(from: must, bytes)
  }

  /// Returns how a client reads a server's bytes otherwise than it must.
  static func strayOfClient(reading bytes: [UInt8]) -> String? {
    var found: Outcome<SessionServerMessage>
    do { found = .message(try SessionServerMessage.read(bytes)) } catch { found = .fault(error) }
    var must: Outcome<SessionServerMessage>
    do { must = .message(try SessionReading.server(bytes)) } catch { must = .missing(error.field) }
    return found.stray(from: must, bytes)
  }

  /// What comes of reading.
  enum Outcome<Message: Equatable>: Equatable {
    case message(Message)
    /// Nothing, for the fault of a member.
    case missing(String?)

    static func fault(_ fault: FieldFault) -> Outcome { .missing(fault.field) }

    func stray(from must: Outcome, _ bytes: [UInt8]) -> String? {
      if self == must { return nil }
      let text = String(decoding: bytes.prefix(300), as: UTF8.self)
      return "\(text) is read as \("\(self)".prefix(300)), not \("\(must)".prefix(300))"
    }
  }

  /// Returns the version to speak with a client, by what it named.
  static func spoken(_ named: String?) -> SessionVersion? {
    let version = SessionReading.version(named) ?? SessionVersion(0, 4, 0)
    let isNew = version.major > 0 || version.minor >= 5
    if version.major == 0, version.minor < 4 { return nil }
    return isNew ? SessionVersion(0, 5, 0) : version
  }

  /// Returns how versions are judged otherwise than they must be.
  static func strayVersion(_ named: String?) -> String? {
    let (found, must) = (SessionVersion.negotiated(named), spoken(named))
    if found == must { return nil }
    return "\(named ?? "no version") makes \(found.map(\.description) ?? "none")"
  }
}
