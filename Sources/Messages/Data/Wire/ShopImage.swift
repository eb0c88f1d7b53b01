public import HoldfastCore
import HoldfastJSON

/// A type of image that a server of messages stores. The raw value is the `file_extension`.
public enum ImageType: String, Sendable, Hashable, Codable, CaseIterable {
  /// JPEG
  case jpeg = "jpg"
  /// PNG
  case png
  /// GIF
  case gif
  /// WebP
  case webp
  /// HEIC, the type of photos from Apple's cameras
  case heic

  /// Creates the type of an image from its first bytes. Returns `nil` if they begin none of these
  /// types.
  ///
  /// 64 bytes are enough.
  public init?(content: some Collection<UInt8>) {
    let head = Array(content.prefix(Self.mostHeadBytes))
    if head.starts(with: [0xff, 0xd8, 0xff]) {
      self = .jpeg
    } else if head.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) {
      self = .png
    } else if head.starts(with: "GIF87a".utf8) || head.starts(with: "GIF89a".utf8) {
      self = .gif
    } else if head.starts(with: "RIFF".utf8), head.dropFirst(8).starts(with: "WEBP".utf8) {
      self = .webp
    } else if Self.isHEIC(head) {
      self = .heic
    } else {
      return nil
    }
  }

  /// The number of bytes at the beginning that can determine the type.
  public static let mostHeadBytes = 64

  /// Returns whether a file begins with a `ftyp` box that has a brand of HEIC. The brand `mif1` alone
  /// is that of any image in this container.
  private static func isHEIC(_ head: [UInt8]) -> Bool {
    guard head.count >= 16, head.dropFirst(4).starts(with: "ftyp".utf8) else { return false }
    let size = head.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    let brands: Set = ["heic", "heix", "heim", "heis", "hevc", "hevx"]
    // The major brand, its version, and the compatible brands.
    let starts = [8] + Array(stride(from: 16, to: min(size, head.count) - 3, by: 4))
    return starts.contains { brands.contains(String(decoding: head[$0..<$0 + 4], as: UTF8.self)) }
  }

  /// The media type, such as `image/jpeg`.
  public var mediaType: String {
    switch self {
    case .jpeg: "image/jpeg"
    case .png: "image/png"
    case .gif: "image/gif"
    case .webp: "image/webp"
    case .heic: "image/heic"
    }
  }
}

/// The answer to the upload of an image.
public struct ShopImage: Sendable, Hashable, Codable {
  /// The id of the image. The contract names it `message_id`, but it is not the id of a message.
  public var id: MessageID
  /// The room for which the image was uploaded.
  public var shop: ShopID
  /// The address with which a text refers to the image.
  public var url: String
  /// The type of the image.
  public var type: ImageType

  /// Creates an answer without validation.
  public init(id: MessageID, shop: ShopID, url: String, type: ImageType) {
    (self.id, self.shop, self.url, self.type) = (id, shop, url, type)
  }

  /// The maximum size of an image, in bytes: 5 MiB.
  public static let mostBytes = 5 * 1_024 * 1_024

  /// Returns the id of the image to which an address refers, or `nil` if it is not an address of an
  /// image on any server of messages.
  ///
  /// The scheme, the host and the query are not examined, since a server may have several names.
  public static func id(in url: some StringProtocol) -> MessageID? {
    let path = url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    let base = ImageRoute.base.utf8
    guard path.count >= base.count + 36, let id = MessageID(utf8: ArraySlice(path.suffix(36))),
      path.dropLast(36).suffix(base.count).elementsEqual(base)
    else { return nil }
    return id
  }
}

extension Envelope {
  /// Returns the answer to the upload of an image.
  package static func image(_ image: ShopImage, note: String) -> [UInt8] {
    JSONWriter.envelope(status: 200, note: note) { writer in
      writer.object {
        $0.entry("message_id", image.id.description)
        $0.entry("shop_id", image.shop.text)
        $0.entry("image_url", image.url)
        $0.entry("file_extension", image.type.rawValue)
      }
    }
  }

  /// Reads the answer to the upload of an image to `shop`. It is an envelope or only its data.
  ///
  /// Throws an error if there is no valid image of `shop`. Without `file_extension` the type is that
  /// which was sent.
  package static func decodeImage(
    _ body: [UInt8], shop: ShopID, sent: ImageType
  ) throws(MessageError) -> ShopImage {
    let fields = try JSONReader.read(body) { (reader) throws(JSONError) in
      var bare = ImageMembers()
      var data: ImageMembers?
      try reader.beginObject()
      while let key = try reader.nextKey() {
        guard reader.matches(key, "data"), try reader.peek() == .object else {
          try bare.read(key, from: &reader)
          continue
        }
        var members = ImageMembers()
        try reader.beginObject()
        while let key = try reader.nextKey() { try members.read(key, from: &reader) }
        data = members
      }
      return data ?? bare
    }
    return try fields.image(of: shop, sent: sent)
  }
}

/// The members of an answer to an upload that have been read so far.
private struct ImageMembers {
  var id = Member.absent
  var shop = Member.absent
  var url = Member.absent
  var ending = Member.absent

  mutating func read(_ key: JSONString, from reader: inout JSONReader) throws(JSONError) {
    if reader.matches(key, "message_id") {
      id = try Member(from: &reader)
    } else if reader.matches(key, "shop_id") {
      shop = try Member(from: &reader)
    } else if reader.matches(key, "image_url") {
      url = try Member(from: &reader)
    } else if reader.matches(key, "file_extension") {
      ending = try Member(from: &reader)
    } else {
      try reader.skipValue()
    }
  }

  func image(of expected: ShopID, sent: ImageType) throws(MessageError) -> ShopImage {
    guard let id = MessageID(try id.required("message_id")) else {
      throw .badIdentifier(field: "message_id")
    }
    if let found = try shop.optional("shop_id"), found != expected.text,
      UUID128(found) == nil || UUID128(found) != UUID128(expected.text)
    {
      throw .wrongShop(found: found)
    }
    let url = try url.required("image_url")
    guard ImageReference.isAddress(url) else { throw .badIdentifier(field: "image_url") }
    let ending = try ending.optional("file_extension").map {
      String($0.hasPrefix(".") ? $0.dropFirst() : $0[...]).lowercased()
    }
    let type = ending.flatMap { $0 == "jpeg" ? .jpeg : ImageType(rawValue: $0) }
    return ShopImage(id: id, shop: expected, url: url, type: type ?? sent)
  }
}
