#if canImport(SwiftUI)
  public import Foundation
  public import SwiftUI

  /// The way in which a list of messages shows images and lets the user pick one.
  ///
  ///     MessageImages(source: pickPhoto) { data in
  ///       UIImage(data: data).map { Image(uiImage: $0).resizable() }
  ///     }
  public struct MessageImages {
    /// A closure that lets the user pick an image, for example with `PhotosPicker`. It returns the
    /// bytes of the image, or `nil` if the user cancels.
    public typealias ImageSource = @MainActor () async throws -> Data?

    let source: ImageSource?
    let decode: @MainActor (Data) -> Image?

    /// Creates a value.
    ///
    /// - Parameters:
    ///   - source: The source of images to send; `nil` if none can be sent.
    ///   - decode: A closure that decodes JPEG, PNG, GIF, WebP or HEIC and makes the image resizable.
    ///     It returns `nil` for bytes that it cannot decode.
    public init(
      source: ImageSource? = nil, decode: @escaping @MainActor (Data) -> Image?
    ) {
      (self.source, self.decode) = (source, decode)
    }
  }

  /// The text and the images of a message.
  struct MessageBody: View {
    let row: MessageRow
    let shop: ShopMessages
    let images: MessageImages?

    private struct Shown: Identifiable {
      let id: Int
      let url: String
    }

    var body: some View {
      let addresses = row.images
      if let images, !addresses.isEmpty {
        if !row.caption.isEmpty { Text(verbatim: row.caption) }
        ForEach(addresses.enumerated().map { Shown(id: $0, url: $1) }) { shown in
          MessageImageView(image: shop.images.image(at: shown.url), decode: images.decode)
        }
      } else {
        Text(verbatim: row.text)
      }
    }
  }

  /// An image of a message. It is fetched when it becomes visible.
  private struct MessageImageView: View {
    let image: MessageImage
    let decode: @MainActor (Data) -> Image?

    var body: some View {
      let image = image
      content.frame(maxWidth: 280, maxHeight: 280).onAppear { image.show() }
    }

    @ViewBuilder private var content: some View {
      let image = image
      if !image.isFetchable {
        Text(verbatim: image.url)
      } else {
        switch image.phase {
        // It was removed from memory, since others were shown after it.
        case .waiting: Button(action: { image.show() }) { Text(Phrase("messages.image.show")) }
        case .loading: ProgressView { Text(Phrase("messages.image.loading")) }
        case .failed: Button(action: { image.show() }) { Text(Phrase("messages.image.failed")) }
        case .loaded(let data):
          if let picture = decode(data) {
            picture.scaledToFit().accessibilityLabel(Text(Phrase("messages.image")))
          } else {
            Text(Phrase("messages.image.unreadable")).foregroundStyle(.secondary)
          }
        }
      }
    }
  }
#endif
