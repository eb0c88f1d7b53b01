// fails: 'openDefaultApplicationsSettingsURLString' is only available in iOS 18.2 or newer
import UIKit

@MainActor func settings() -> String { UIApplication.openDefaultApplicationsSettingsURLString }
