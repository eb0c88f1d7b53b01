import HoldfastCore
import HoldfastJSON
import Testing

@testable import HoldfastMessageData

/// Tests of images and of references to them.
@Suite struct ShopImageTests {
  private static func box(_ brands: String, size: UInt8? = nil, type: String = "ftyp") -> [UInt8] {
    let bytes = [UInt8](type.utf8) + [UInt8](brands.utf8)
    return [0, 0, 0, size ?? UInt8(bytes.count + 4)] + bytes
  }

  private static let contents: [([UInt8], ImageType?)] = [
    ([0xff, 0xd8, 0xff, 0xe0, 1], .jpeg), ([0xff, 0xd8, 0xff], .jpeg), ([0xff, 0xd8], nil),
    ([0x89] + Array("PNG\r\n\u{1a}\n".utf8) + [7], .png), ([0x89] + Array("PNG\r\n".utf8), nil),
    (Array("GIF89a".utf8), .gif), (Array("GIF87a!".utf8), .gif), (Array("GIF88a".utf8), nil),
    (Array("RIFF1234WEBPVP8 ".utf8), .webp), (Array("RIFF1234WAVE".utf8), nil),
    (Array("RIFF1234WEB".utf8), nil), (Self.box("heic0000mif1heic"), .heic),
    (Self.box("mif10000mif1heix"), .heic), (Self.box("mif10000mif1avif"), nil),
    (Self.box("avif0000mif1heic"), .heic), (Self.box("heic0000"), .heic),
    // The compatible brand lies behind the box.
    (Self.box("mif10000mif1heic", size: 20), nil), (Self.box("heic0000", type: "moov"), nil),
    // The version of the major brand is no brand.
    (Self.box("mif1heicmif1"), nil), (Self.box("mif10000", size: 0) + Array("heic".utf8), nil),
    ([], nil), (Array("<svg xmlns=".utf8), nil),
  ]

  @Test(arguments: contents)
  func `the first bytes determine the type`(_ content: [UInt8], _ type: ImageType?) {
    #expect(ImageType(content: content) == type)
    #expect(ImageType(content: content[...]) == type)
    #expect(ImageType(content: content + [UInt8](repeating: 0, count: 100)) == type)
  }

  @Test func `64 bytes are enough to know the type`() {
    let brands = String(repeating: "mif1", count: 11)
    #expect(ImageType(content: Self.box("mif10000" + brands + "heic")) == .heic)
    #expect(ImageType(content: Self.box("mif10000" + brands + "mif1heic")) == nil)
  }

  @Test func `each type has an extension and a media type`() {
    #expect(ImageType.allCases.map(\.rawValue) == ["jpg", "png", "gif", "webp", "heic"])
    #expect(
      ImageType.allCases.map(\.mediaType)
        == ["image/jpeg", "image/png", "image/gif", "image/webp", "image/heic"])
  }

  private typealias Part = ImageReference.Part

  private static let texts: [(String, [ImageReference.Part])] = [
    ("", []), ("plain [text]", [.text("plain [text]")]),
    ("[IMAGE:https://a/b]", [.image(url: "https://a/b")]),
    ("x[IMAGE:http://a]y", [.text("x"), .image(url: "http://a"), .text("y")]),
    (
      "[IMAGE:http://a][IMAGE:http://b] ",
      [.image(url: "http://a"), .image(url: "http://b"), .text(" ")]
    ),
    ("[IMAGE:http://[::1]:8/i]", [.image(url: "http://[::1]:8/i")]),
    ("[IMAGE:http://[::1]", [.text("[IMAGE:http://[::1]")]),
    ("[IMAGE:https://]", [.text("[IMAGE:https://]")]),
    ("[IMAGE:ftp://a]", [.text("[IMAGE:ftp://a]")]),
    ("[image:http://a]", [.text("[image:http://a]")]),
    ("[IMAGE:http://a b]", [.text("[IMAGE:http://a b]")]),
    ("[IMAGE:http://a\n]", [.text("[IMAGE:http://a\n]")]),
    ("[IMAGE:http://a\u{7f}]", [.text("[IMAGE:http://a\u{7f}]")]),
    ("[IMAGE:http://a", [.text("[IMAGE:http://a")]),
    ("[[IMAGE:http://a]]", [.text("["), .image(url: "http://a"), .text("]")]),
    ("[IMAGE:[IMAGE:http://ä]", [.text("[IMAGE:"), .image(url: "http://ä")]),
  ]

  @Test(arguments: texts)
  func `a text has references between its other parts`(
    _ text: String, _ parts: [ImageReference.Part]
  ) {
    #expect(ImageReference.parts(of: text) == parts)
    let urls = parts.compactMap { if case .image(let url) = $0 { url } else { nil } }
    #expect(ImageReference.urls(in: text) == urls)
    #expect(urls.allSatisfy { ImageReference.isAddress(String($0)) })
  }

  @Test(arguments: [(2_047, true), (2_048, true), (2_049, false)])
  func `a URL is bounded`(_ count: Int, _ isReference: Bool) {
    let url = "https://" + String(repeating: "a", count: count - 8)
    #expect(ImageReference.isAddress(url) == isReference)
    #expect(ImageReference.urls(in: ImageReference.text(for: url)).isEmpty != isReference)
  }

  @Test func `a URL with a bracket is no address`() {
    #expect(!ImageReference.isAddress("http://a]b"))
    #expect(!ImageReference.isAddress("http://a] [IMAGE:http://b"))
    #expect(!ImageReference.isAddress(""))
  }

  @Test(arguments: [
    ("new", "old", "new"), ("new", "old [IMAGE:http://a] x", "new\n[IMAGE:http://a]"),
    ("", "[IMAGE:http://a]", "[IMAGE:http://a]"), ("", "", ""),
    ("new [IMAGE:http://b]", "[IMAGE:http://a]", "new [IMAGE:http://b]"),
    (
      "new", "[IMAGE:http://a][IMAGE:http://b][IMAGE:http://a]",
      "new\n[IMAGE:http://a]\n[IMAGE:http://b]"
    ), ("[IMAGE:none]", "[IMAGE:http://a]", "[IMAGE:none]\n[IMAGE:http://a]"),
  ])
  func `a new text keeps the references of the earlier one`(
    _ text: String, _ earlier: String, _ kept: String
  ) {
    #expect(ImageReference.text(text, keepingThoseOf: earlier) == kept)
    #expect(ImageReference.text(kept, keepingThoseOf: earlier) == kept)
  }

  private static let path = "/api/v1/auth/shops/messages/image/"

  @Test func `the path of a URL names the image`() {
    let url = "https://chat.example" + Self.path + "\(Sample.id)"
    for suffix in ["", "?token=x", "#top", "?a=/\(Sample.parent)"] {
      #expect(ShopImage.id(in: url + suffix) == Sample.id)
    }
    for other in [
      url + "/", url.dropLast() + "x", "\(Sample.id)", "http://a/image/\(Sample.id)",
      url + "0", "",
    ] {
      #expect(ShopImage.id(in: other) == nil)
    }
  }

  @Test func `routes of images are paths`() {
    for route in [ImageRoute.upload, .image(Sample.id)] {
      #expect(ImageRoute(path: route.path) == route)
      #expect(ShopRoute(path: route.path) == nil)
    }
    for path in ["", "/", Self.path, Self.path + "x", Self.path + "upload/", "/image/upload"] {
      #expect(ImageRoute(path: path) == nil)
    }
  }

  @Test func `an answer survives its text`() throws {
    let image = ShopImage(
      id: Sample.id, shop: Sample.shop, url: "http://a" + Self.path + "\(Sample.id)", type: .webp)
    let bytes = Envelope.image(image, note: "ok")
    #expect(try Envelope.decodeImage(bytes, shop: Sample.shop, sent: .png) == image)
    #expect(
      String(decoding: bytes, as: UTF8.self)
        == #"{"status":200,"message":"ok","data":{"message_id":"\#(Sample.id)","#
        + #""shop_id":"\#(Sample.shop)","image_url":"http://a\#(Self.path)\#(Sample.id)","#
        + #""file_extension":"webp"}}"#)
  }

  private static let answers: [(String, String, String?)] = [
    (#"{"message_id":"ID","image_url":"http://a/b","file_extension":".JPEG"}"#, "jpg", nil),
    (#"{"data":{"message_id":"ID","image_url":"http://a/b","file_extension":"tiff"}}"#, "png", nil),
    (#"{"message_id":"ID","image_url":"http://a/b"}"#, "png", nil),
    (#"{"message_id":"ID"}"#, "", "image_url"), (#"{"image_url":"http://a"}"#, "", "message_id"),
    (#"{"message_id":"ID","image_url":"a b"}"#, "", "image_url"),
    (#"{"message_id":"7","image_url":"http://a"}"#, "", "message_id"),
    (#"{"message_id":"ID","image_url":"http://a","shop_id":"other"}"#, "", "other"),
    (#"{"message_id":5,"image_url":"http://a"}"#, "", "message_id"), ("[]", "", ""),
  ]

  @Test(arguments: answers)
  func `answers of other servers are read as far as they make sense`(
    _ text: String, _ type: String, _ fault: String?
  ) throws {
    let body = Array(text.replacing("ID", with: "\(Sample.id)").utf8)
    guard let fault else {
      let image = try Envelope.decodeImage(body, shop: Sample.shop, sent: .png)
      #expect((image.id, image.shop, image.type.rawValue) == (Sample.id, Sample.shop, type))
      return
    }
    let error = #expect(throws: MessageError.self) {
      try Envelope.decodeImage(body, shop: Sample.shop, sent: .png)
    }
    #expect("\(error as Any)".contains(fault))
  }
}
