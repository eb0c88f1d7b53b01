public import Foundation
import Holdfast
public import HoldfastCore
import HoldfastMessageData
public import Observation

/// The images to which the messages of a shop refer. They are in memory only, so that nothing is
/// left of an image whose message was deleted.
@MainActor public final class ShopImages {
  /// The maximum size of all images in memory, in bytes. Beyond it, those that were shown least
  /// recently are removed, and fetched again when they are shown.
  public static let memoryBytes = 32 << 20
  /// The maximum number of images that are known.
  public static let most = 500
  /// The maximum number of fetches at the same time. Their bytes are in memory besides `memoryBytes`.
  public static let mostFetches = 4

  private let fetch: @MainActor (String) async throws -> [UInt8]
  /// The images, the one that was shown least recently first.
  private var images: [MessageImage] = []
  /// The shown images whose fetch has not begun.
  private var queue: [MessageImage] = []
  private var fetches = 0

  init(_ fetch: @escaping @MainActor (String) async throws -> [UInt8]) { self.fetch = fetch }

  /// Returns the image at an address. It is fetched when `show()` is called.
  public func image(at url: String) -> MessageImage {
    if let known = images.first(where: { $0.url == url }) { return known }
    let image = MessageImage(url) { [weak self] image in self?.shown(image) }
    images.append(image)
    if images.count > Self.most { images.removeFirst().clear() }
    return image
  }

  /// Forgets images whose messages do not refer to them any more.
  func forget(_ urls: some Sequence<String>) {
    let gone = Set(urls)
    for image in images where gone.contains(image.url) { image.clear() }
    images.removeAll { gone.contains($0.url) }
  }

  /// Forgets all images.
  func clear() {
    for image in images { image.clear() }
    images = []
  }

  private func shown(_ image: MessageImage) {
    if let index = images.firstIndex(where: { $0 === image }) {
      images.append(images.remove(at: index))
    }
    guard image.begin() else { return }
    if !queue.contains(where: { $0 === image }) { queue.append(image) }
    fetchNext()
  }

  /// Begins the fetches for which there is room.
  private func fetchNext() {
    while fetches < Self.mostFetches, !queue.isEmpty {
      let image = queue.removeFirst()
      // It may have been forgotten since.
      guard image.phase == .loading else { continue }
      fetches += 1
      Task {
        do {
          image.end(.loaded(Data(try await fetch(image.url))))
        } catch {
          image.end(.failed(error as? LinkFailure))
        }
        makeRoom(keeping: image)
        fetches -= 1
        fetchNext()
      }
    }
  }

  /// Removes the images that were shown least recently while there are too many bytes.
  private func makeRoom(keeping newest: MessageImage) {
    var bytes = images.reduce(0) { $0 + $1.size }
    for image in images where bytes > Self.memoryBytes && image !== newest && image.size > 0 {
      bytes -= image.size
      image.clear()
    }
  }
}

/// An image to which a message refers.
@MainActor @Observable public final class MessageImage {
  /// The state of an image.
  public enum Phase: Sendable, Hashable {
    /// The image was not requested, or was removed from memory.
    case waiting
    /// The image is being fetched.
    case loading
    /// The bytes of the image: JPEG, PNG, GIF, WebP or HEIC.
    case loaded(Data)
    /// The image could not be fetched. `show()` tries again.
    case failed(LinkFailure?)
  }

  /// The address of the image.
  public let url: String
  /// The current state.
  public private(set) var phase = Phase.waiting
  /// Whether the image is one of a server of messages. Other addresses are never fetched, since their
  /// servers would learn who reads the message.
  public var isFetchable: Bool { ShopImage.id(in: url) != nil }

  @ObservationIgnored private let onShow: @MainActor (MessageImage) -> Void
  /// Whether the result of a fetch is still wanted.
  @ObservationIgnored private var isForgotten = false

  init(_ url: String, onShow: @escaping @MainActor (MessageImage) -> Void) {
    (self.url, self.onShow) = (url, onShow)
  }

  /// Fetches the image unless it is in memory. A view calls it when it appears.
  public func show() { if isFetchable { onShow(self) } }

  /// Begins a fetch. Returns false if none is needed.
  func begin() -> Bool {
    switch phase {
    case .waiting, .failed: break
    case .loading, .loaded: return false
    }
    (phase, isForgotten) = (.loading, false)
    return true
  }

  func end(_ result: Phase) { if !isForgotten { phase = result } }

  func clear() { (phase, isForgotten) = (.waiting, true) }

  /// The size in memory, in bytes.
  var size: Int { if case .loaded(let data) = phase { data.count } else { 0 } }
}

extension MessageRow {
  /// The addresses of the images to which the text refers, in order.
  public var images: [String] { message.images }

  /// The text without its references to images and without the space around them.
  public var caption: String {
    guard !images.isEmpty else { return text }
    let parts = ImageReference.parts(of: text).compactMap { part -> String? in
      switch part {
      case .text(let text): text.withoutOuterSpace
      case .image: nil
      }
    }
    return parts.filter { !$0.isEmpty }.joined(separator: "\n")
  }
}

extension Substring {
  /// The text without the space at its ends.
  fileprivate var withoutOuterSpace: String {
    let start = drop { $0.isWhitespace }
    return start.lastIndex { !$0.isWhitespace }.map { String(start[...$0]) } ?? ""
  }
}
