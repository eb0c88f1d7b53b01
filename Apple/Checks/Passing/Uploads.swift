import HoldfastBackgroundUploads
import HoldfastUI

@MainActor func prepare(_ links: HoldfastLinks) {
  // docs/apps.md >
  // Once in each launch, before its end:
  links.parts.uploads = try? BackgroundUploads(
    identifier: "com.example.uploads", links.uploadTarget())
  // docs/apps.md <
}
