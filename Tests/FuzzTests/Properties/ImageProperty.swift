import HoldfastCore
import HoldfastJSON

@testable import HoldfastMessageData
@testable import HoldfastServerParts

/// The properties of forms, ranges and references to images.
enum ImageProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let kind = choices.byte() % 7
    if kind == 2 {
      let size = Int(choices.byte()) << 8 | Int(choices.byte())
      return try range(String(decoding: choices.rest, as: UTF8.self), size)
    }
    let rest = Array(choices.rest)
    let text = String(decoding: rest, as: UTF8.self)
    switch kind {
    case 0: try form(rest)
    case 1: _ = HeaderParameters(text)
    case 3: try references(text)
    case 4: try type(rest)
    case 5: try answer(rest)
    case _: try path(text)
    }
  }

  private static func form(_ body: [UInt8]) throws(Broken) {
    guard let form = try? MultipartForm(body, mediaType: "multipart/form-data; boundary=x") else {
      return
    }
    try hold(form.fields.count <= MultipartForm.mostFields, "the fields are bounded")
    let size = form.fields.reduce(0) { $0 + $1.content.count }
    try hold(size <= body.count, "no byte is in two fields")
    for field in form.fields {
      try hold(!field.name.isEmpty, "a field has a name")
      try hold(
        field.content.elementsEqual(body[field.content.indices]), "a content is part of the body")
    }
  }

  private static func range(_ field: String, _ size: Int) throws(Broken) {
    guard case .part(let part) = ByteRange(field, of: size) else { return }
    try hold(!part.isEmpty && part.lowerBound >= 0, "a part is not empty")
    try hold(part.upperBound <= size, "a part lies in the content")
  }

  private static func references(_ text: String) throws(Broken) {
    let parts = ImageReference.parts(of: text)
    let whole = parts.map { part in
      switch part {
      case .text(let text): String(text)
      case .image(let url): ImageReference.text(for: String(url))
      }
    }
    try hold(whole.joined() == text, "the parts of a text are the text")
    for part in parts {
      switch part {
      case .text(let text): try hold(!text.isEmpty, "no part is empty")
      case .image(let url):
        try hold(ImageReference.isAddress(String(url)), "a URL can be referred to")
        try hold(url.utf8.count <= ImageReference.mostBytes, "a URL is bounded")
      }
    }
  }

  private static func type(_ content: [UInt8]) throws(Broken) {
    let head = content.prefix(ImageType.mostHeadBytes)
    try hold(ImageType(content: content) == ImageType(content: head), "the head is enough")
  }

  private static func answer(_ body: [UInt8]) throws(Broken) {
    let shop = ShopID(UUID128(high: 1, low: 1))
    guard let image = try? Envelope.decodeImage(body, shop: shop, sent: .png) else { return }
    let again = try? Envelope.decodeImage(
      Envelope.image(image, note: ""), shop: shop, sent: .gif)
    try hold(again == image, "an answer that was read can be written")
  }

  private static func path(_ text: String) throws(Broken) {
    if let route = ImageRoute(path: text) {
      try hold(ShopRoute(path: text) == nil, "a path has one route")
      try hold(ImageRoute(path: route.path) == route, "a route is a path")
    }
    if let id = ShopImage.id(in: text) {
      let url = "http://a" + ImageRoute.image(id).path
      try hold(ShopImage.id(in: url) == id, "an id is part of its URL")
    }
  }
}
