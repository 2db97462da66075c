# The first logon of a freshly installed Windows: what worlds need of it. Ends by switching the machine off; what fails
# leaves it on, so that the installation ends by its time limit and its screen shows why.
$ErrorActionPreference = 'Stop'
$medium = Split-Path -Parent $PSScriptRoot
Start-Transcript -Path C:\gym-anything-setup.log

# The folder that mounts and hooks name.
New-Item -ItemType Directory -Force -Path C:\workspace | Out-Null
icacls C:\workspace /grant 'Docker:(OI)(CI)F' | Out-Null

# SSH, with PowerShell as the shell of its sessions.
Add-WindowsCapability -Online -Name 'OpenSSH.Server~~~~0.0.1.0'
Set-Service -Name sshd -StartupType Automatic
Start-Service sshd
New-ItemProperty -Path HKLM:\SOFTWARE\OpenSSH -Name DefaultShell -PropertyType String -Force `
    -Value C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe | Out-Null
if (-not (Get-NetFirewallRule -Name 'OpenSSH-Server-In-TCP' -ErrorAction SilentlyContinue)) {
    New-NetFirewallRule -Name 'OpenSSH-Server-In-TCP' -DisplayName 'OpenSSH Server' -Direction Inbound -Protocol TCP `
        -LocalPort 22 -Action Allow | Out-Null
}

# Python and what moves mouse and keyboard from inside.
$python = Start-Process -Wait -PassThru -FilePath "$medium\python-3.11.9-amd64.exe" `
    -ArgumentList '/quiet', 'InstallAllUsers=1', 'PrependPath=1', 'Include_launcher=1'
if ($python.ExitCode -ne 0) { throw "the installation of Python ended with $($python.ExitCode)" }
& 'C:\Program Files\Python311\python.exe' -m pip install --no-cache-dir pyautogui==0.9.54 pillow==10.4.0
if ($LASTEXITCODE -ne 0) { throw "pip ended with $LASTEXITCODE" }

# Nothing sleeps, locks, updates or greets in the middle of an episode.
powercfg /change standby-timeout-ac 0
powercfg /change monitor-timeout-ac 0
powercfg /hibernate off
Set-ItemProperty -Path 'HKCU:\Control Panel\Desktop' -Name ScreenSaveActive -Value 0
foreach ($service in 'wuauserv', 'UsoSvc', 'WSearch', 'SysMain') {
    Stop-Service -Name $service -Force -ErrorAction SilentlyContinue
    Set-Service -Name $service -StartupType Disabled
}
$policy = 'HKLM:\SOFTWARE\Policies\Microsoft\Windows\WindowsUpdate\AU'
New-Item -Force -Path $policy | Out-Null
Set-ItemProperty -Path $policy -Name NoAutoUpdate -Value 1 -Type DWord

Stop-Transcript
Stop-Computer -Force
