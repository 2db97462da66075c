#!/bin/bash
set -e
mkdir -p /opt/kiosk
sudo -u ga mkdir -p /home/ga/kiosk
cat > /opt/kiosk/kiosk <<'KIOSK'
#!/bin/bash
# Asks one visitor after the other for name and company, and writes them into the book.
while line=$(zenity --forms --title "Visitor kiosk" --text "Please sign in" --separator ";" \
    --add-entry "Name" --add-entry "Company" --width 420); do
    echo "$line" >> "$KIOSK_BOOK"
done
KIOSK
chmod +x /opt/kiosk/kiosk
