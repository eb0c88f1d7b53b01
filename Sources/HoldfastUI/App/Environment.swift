#if canImport(SwiftUI)
  public import SwiftUI

  extension View {
    /// Makes the links available to the view and its children, as `@Environment(HoldfastLinks.self)`.
    public func holdfast(_ links: HoldfastLinks) -> some View { environment(links) }
  }
#endif
