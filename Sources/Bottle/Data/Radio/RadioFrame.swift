import HoldfastCore

/// A frame between a phone and a peripheral, sent over a socket that simulates a radio.
///
/// A frame consists of its kind (1 byte), the length of its content (2 bytes, little-endian) and
/// the content. Frames represent the functions of a Bluetooth controller: advertisements, a
/// connection, and GATT operations by UUID. They never leave the machine, so the only protection is
/// that of the socket's file.
package enum RadioFrame: Sendable, Hashable {
  // Frames from the peripheral.
  /// The peripheral accepts a connection.
  case advertisement(PeripheralID, service: GATTID, name: String)
  /// The phone is connected. `longestValue` is the maximum size of a notification's value, in
  /// bytes.
  case connected(longestValue: UInt16)
  /// The connection ended or was refused.
  case disconnected
  case notification(GATTID, [UInt8])
  /// The answer to a request. The value is `nil` if the request was refused.
  case reply(UInt16, [UInt8]?)

  // Frames from the phone.
  case connect
  case disconnect
  /// A request to check that the service has these characteristics. The reply is empty.
  case discover(UInt16, [GATTID])
  case subscribe(UInt16, GATTID)
  case read(UInt16, GATTID)
  case write(UInt16, GATTID, [UInt8])

  /// The maximum size of the content, in bytes.
  ///
  /// It is sufficient for a value of 512 bytes (Core Specification, volume 3, part F, 3.2.9) with
  /// its header, or for the UUIDs of a service's characteristics.
  package static let longest = 1_024

  /// The bytes of the frame.
  package var bytes: [UInt8] {
    var writer = PackedWriter()
    let kind = content(&writer)
    let content = writer.bytes.prefix(Self.longest)
    return [kind, UInt8(content.count & 0xFF), UInt8(content.count >> 8)] + content
  }

  private func content(_ writer: inout PackedWriter) -> UInt8 {
    switch self {
    case .advertisement(let id, let service, let name):
      writer.id(id.id)
      writer.id(service)
      writer.all(Array(name.utf8.prefix(64)))
      return 1
    case .connected(let longest):
      writer.short(longest)
      return 2
    case .disconnected: return 3
    case .notification(let id, let bytes):
      writer.id(id)
      writer.all(bytes)
      return 4
    case .reply(let number, let bytes):
      writer.short(number)
      writer.byte(bytes == nil ? 0 : 1)
      writer.all(bytes ?? [])
      return 5
    case .connect: return 16
    case .disconnect: return 17
    case .discover(let number, let ids):
      writer.short(number)
      for id in ids { writer.id(id) }
      return 18
    case .subscribe(let number, let id):
      writer.request(number, id)
      return 19
    case .read(let number, let id):
      writer.request(number, id)
      return 20
    case .write(let number, let id, let bytes):
      writer.request(number, id)
      writer.all(bytes)
      return 21
    }
  }

  fileprivate init(_ kind: UInt8, _ bytes: [UInt8]) throws(RadioFault) {
    var reader: PackedReader
    do throws(BottleFormatError) {
      reader = try PackedReader("frame", bytes, atLeast: Self.leastLength(of: kind))
    } catch {
      throw RadioFault()
    }
    switch kind {
    case 1:
      let (id, service) = (reader.id(), reader.id())
      self = .advertisement(
        PeripheralID(id), service: service, name: String(decoding: reader.all(), as: UTF8.self))
    case 2: self = .connected(longestValue: reader.short())
    case 3: self = .disconnected
    case 4: self = .notification(reader.id(), reader.all())
    case 5:
      let (number, isTaken) = (reader.short(), reader.byte() == 1)
      let rest = reader.all()
      self = .reply(number, isTaken ? rest : nil)
    case 16: self = .connect
    case 17: self = .disconnect
    case 18:
      let number = reader.short()
      guard reader.rest % 16 == 0 else { throw RadioFault() }
      var ids: [GATTID] = []
      while reader.rest > 0 { ids.append(reader.id()) }
      self = .discover(number, ids)
    case 19: self = .subscribe(reader.short(), reader.id())
    case 20: self = .read(reader.short(), reader.id())
    case 21: self = .write(reader.short(), reader.id(), reader.all())
    case _: throw RadioFault()
    }
  }

  private static func leastLength(of kind: UInt8) -> Int {
    switch kind {
    case 1: 32
    case 2, 18: 2
    case 4: 16
    case 5: 3
    case 19, 20, 21: 18
    case _: 0
    }
  }
}

/// An error that is thrown for bytes that are not a frame. The peer is then not a radio.
package struct RadioFault: Error, Sendable, Hashable {
  init() {}
}

/// A reader of frames from a stream of bytes.
package struct RadioFrameReader: Sendable {
  private var bytes: [UInt8] = []
  /// Whether a frame could not be read. The reader then reads no further frames.
  package private(set) var isBroken = false

  package init() {}

  /// Adds bytes and returns the frames that are now complete.
  ///
  /// - Throws: An error if a frame is too long or invalid. The reader then reads no further frames.
  package mutating func take(_ new: some Sequence<UInt8>) throws(RadioFault) -> [RadioFrame] {
    let frames = readable(new)
    guard !isBroken else { throw RadioFault() }
    return frames
  }

  /// Adds bytes and returns the frames that are now complete and precede the first invalid one.
  package mutating func readable(_ new: some Sequence<UInt8>) -> [RadioFrame] {
    guard !isBroken else { return [] }
    bytes += new
    var frames: [RadioFrame] = []
    var start = 0
    while bytes.count - start >= 3 {
      let count = Int(bytes[start + 1]) | Int(bytes[start + 2]) << 8
      guard count <= RadioFrame.longest else {
        isBroken = true
        break
      }
      guard bytes.count - start >= 3 + count else { break }
      let content = Array(bytes[start + 3..<start + 3 + count])
      do throws(RadioFault) {
        frames.append(try RadioFrame(bytes[start], content))
      } catch {
        isBroken = true
        break
      }
      start += 3 + count
    }
    bytes.removeFirst(start)
    return frames
  }
}

extension PackedWriter {
  fileprivate mutating func id(_ id: UUID128) {
    for word in [id.low, id.high] {
      self.word(UInt32(truncatingIfNeeded: word))
      self.word(UInt32(truncatingIfNeeded: word >> 32))
    }
  }

  /// Writes the start of a request for a characteristic: its number (2 bytes) and its id (16
  /// bytes).
  fileprivate mutating func request(_ number: UInt16, _ id: UUID128) {
    short(number)
    self.id(id)
  }

  fileprivate mutating func all(_ bytes: [UInt8]) {
    for byte in bytes { self.byte(byte) }
  }
}

extension PackedReader {
  fileprivate mutating func id() -> UUID128 {
    let low = UInt64(word()) | UInt64(word()) << 32
    return UUID128(high: UInt64(word()) | UInt64(word()) << 32, low: low)
  }

  fileprivate mutating func all() -> [UInt8] { (0..<rest).map { _ in byte() } }
}
